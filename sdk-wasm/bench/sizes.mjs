// Sizes of the bodies that are verified, in bytes.

export const SIZES = [1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
