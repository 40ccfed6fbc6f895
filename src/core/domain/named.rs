//! Enums whose values have names, and types that records hold as text.

/// Makes such an enum: each value with its name once, `ALL` in the order of their declaration, and `name()`.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$value_meta:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$value_meta])* $value,)+
        }

        impl $name {
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$value),+];

            /// As flags, records and tables spell it, or as it is called on the screen.
            pub fn name(self) -> &'static str {
                match self { $($name::$value => $text,)+ }
            }
        }
    };
}

/// What `#[serde(try_from = "String", into = "String")]` asks of a type that is parsed and displayed.
macro_rules! as_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<$name, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}

pub(in crate::domain) use as_text;
