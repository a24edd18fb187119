//! Lists without repetitions, in the order of the first occurrences.

/// The `values`, each once.
pub fn each_once<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    add_new(&mut all, values);
    all
}

/// Adds those of `more` to `all` that it does not have yet.
pub fn add_new<T: PartialEq>(all: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_value_keeps_its_first_place() {
        let mut all = each_once([3, 1, 3, 2, 1]);
        add_new(&mut all, [2, 4, 4]);
        assert_eq!(all, [3, 1, 2, 4]);
    }
}
