//! Loops over pixels, compiled twice: for any processor, and for those with AVX2, which take eight numbers at a time.
//!
//! Both give the same numbers, bit for bit: nothing is reordered, and no products are fused into sums.

/// Defines a function of slices and numbers whose loops use what this processor has.
macro_rules! wide {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        fn $name($($argument: $type),*) {
            #[inline(always)]
            fn plain($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2($($argument: $type),*) {
                    plain($($argument),*)
                }

                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: this processor has AVX2, which is all that the function asks for.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            plain($($argument),*)
        }
    };
}

pub(super) use wide;
