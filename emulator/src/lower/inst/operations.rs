//! Tables of operations on registers.

/// Declares a group of operations. A row has an operation's qualifiers, then like the signature of
/// a function its sources and its results, each with the file of its register:
/// `Binary32 { op: Binary } (a: R32, b: R32) -> (d: R32)`. The file may depend on the qualifiers.
/// Operations that are types of their own come last; they have the same methods.
macro_rules! operations {
    (
        $(#[$about_group:meta])*
        pub enum $group:ident {
            $(
                $(#[$about:meta])*
                $name:ident { $($field:ident: $ty:ty),* }
                ($($source:ident: $from:expr),*) -> ($($result:ident: $to:expr),*);
            )*
        }
        $($(#[$about_other:meta])* | $other:ident)*
    ) => {
        $(#[$about_group])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[expect(missing_docs, reason = "fields are operands in PTX order")]
        pub enum $group {
            $(
                $(#[$about])*
                $name { $($field: $ty,)* $($source: Slot,)* $($result: Slot,)* },
            )*
            $($(#[$about_other])* $other($other),)*
        }

        impl $group {
            /// Shows every register.
            pub fn slots(&self, see: &mut $crate::lower::inst::Visitor<'_>) {
                match *self {
                    $(
                        #[allow(unused_variables, reason = "most qualifiers decide no file")]
                        Self::$name { $($field,)* $($source,)* $($result,)* } => {
                            $crate::lower::inst::slot::show(
                                see, [$(($from, $source)),*], [$(($to, $result)),*],
                            );
                        }
                    )*
                    $(Self::$other(operation) => operation.slots(see),)*
                }
            }
        }
    };
}

pub(super) use operations;
