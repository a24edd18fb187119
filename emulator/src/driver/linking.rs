//! Linking of binary code, of which the emulator has none.

use super::unsupported::unsupported;

unsupported! {
    cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy
}
