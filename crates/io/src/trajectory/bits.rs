//! The packed integers of XTC: a stream of bits, most significant first, and triples of integers
//! that are packed into one number.

/// A stream of bits over the bytes of a frame.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits taken so far.
    at: u64,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0 }
    }
    /// Whether more bits were taken than there are.
    pub(super) fn is_overrun(&self) -> bool {
        self.at > self.bytes.len() as u64 * 8
    }
    /// The next `count` bits, at most 56, as a number; zeros beyond the end.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> u64 {
        let byte = (self.at / 8) as usize;
        let word = match self.bytes.get(byte..byte + 8) {
            // INVARIANT: the slice has eight bytes.
            Some(eight) => u64::from_be_bytes(eight.try_into().unwrap_or_default()),
            None => self.tail(byte),
        };
        let shifted = word << (self.at % 8);
        self.at += u64::from(count);
        if count == 0 {
            0
        } else {
            shifted >> (64 - count)
        }
    }
    /// Eight bytes from `byte` on near the end.
    #[cold]
    fn tail(&self, byte: usize) -> u64 {
        let rest = self.bytes.get(byte..).unwrap_or_default();
        let mut eight = [0; 8];
        let len = rest.len().min(8);
        eight[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(eight)
    }
    /// A number of `count` bits (at most 96) that is stored byte by byte, the least significant
    /// byte first; its last, most significant byte may have fewer bits.
    #[inline]
    fn little_endian(&mut self, count: u32) -> u128 {
        let (mut value, mut shift, mut left) = (0u128, 0, count);
        while left > 48 {
            value |= u128::from(self.reversed(48)) << shift;
            (shift, left) = (shift + 48, left - 48);
        }
        value | u128::from(self.reversed(left)) << shift
    }
    /// As [`Bits::little_endian`], at most 56 bits.
    #[inline]
    fn reversed(&mut self, count: u32) -> u64 {
        if count == 0 {
            return 0;
        }
        // A whole last byte is one of eight bits.
        let whole = (count - 1) / 8 * 8;
        let bytes = self.take(whole);
        let low = if whole == 0 {
            0
        } else {
            bytes.swap_bytes() >> (64 - whole)
        };
        low | self.take(count - whole) << whole
    }
    /// Three integers below `sizes` that were packed into one number of `count` bits.
    #[inline]
    pub(super) fn triple(&mut self, count: u32, sizes: [u32; 3]) -> [u32; 3] {
        let [_, y, z] = sizes.map(u64::from);
        if count <= 56 {
            let value = self.reversed(count);
            let (rest, z_part) = (value / z, value % z);
            return [(rest / y) as u32, (rest % y) as u32, z_part as u32];
        }
        let (y, z) = (u128::from(y), u128::from(z));
        let value = self.little_endian(count);
        let (rest, z_part) = (value / z, value % z);
        [(rest / y) as u32, (rest % y) as u32, z_part as u32]
    }
}

/// Bits of a number below `size`.
pub(super) fn bits_of(size: u32) -> u32 {
    32 - size.leading_zeros()
}

/// Bits of three numbers below `sizes`, packed into one.
pub(super) fn bits_of_three(sizes: [u32; 3]) -> u32 {
    let product = sizes
        .iter()
        .fold(1u128, |product, size| product * u128::from(*size));
    128 - product.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_most_significant_first() {
        let mut bits = Bits::new(&[0b1010_0101, 0xff]);
        assert_eq!((bits.take(1), bits.take(3), bits.take(4)), (1, 2, 5));
        assert_eq!((bits.take(8), bits.take(5)), (255, 0));
        assert!(bits.is_overrun());
    }

    #[test]
    fn numbers_come_least_significant_byte_first() {
        let bytes = [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a];
        assert_eq!(Bits::new(&bytes).little_endian(16), 0x0201);
        assert_eq!(
            Bits::new(&bytes).little_endian(72),
            0x0009_0807_0605_0403_0201
        );
        // The last four bits are the upper half of the third byte.
        assert_eq!(Bits::new(&[0x01, 0x02, 0x30]).little_endian(20), 0x3_0201);
    }
}
