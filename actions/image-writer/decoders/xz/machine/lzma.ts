import {
  ALIGN,
  DAMAGED,
  IS_MATCH,
  IS_REP,
  IS_REP_G0,
  IS_REP_G1,
  IS_REP_G2,
  IS_REP0_LONG,
  LENGTH,
  LITERAL,
  OK,
  POS_SLOT,
  POS_SPECIAL,
  PROBABILITIES_END,
  REP_LENGTH,
} from '../layout';
import { afterBit, afterOne, afterZero, boundOf, EVEN_FOUR, TOP } from './probability';

// What lasts from chunk to chunk; names as in the LZMA specification (lzma-specification.txt of the LZMA SDK).
let lastState: u32 = 0;
let lastRep0: u32 = 0;
let lastRep1: u32 = 0;
let lastRep2: u32 = 0;
let lastRep3: u32 = 0;
let lc: u32 = 0;
let lpMask: u32 = 0;
let pbMask: u32 = 0;
/** Bytes since the dictionary was reset. */
let position: u32 = 0;

export function resetPosition(): void {
  position = 0;
}

export function skipPosition(length: u32): void {
  position += length;
}

export function setProperties(properties: u32): void {
  const rest = properties / 9;
  lc = properties % 9;
  lpMask = (1 << (rest % 5)) - 1;
  pbMask = (1 << (rest / 5)) - 1;
}

export function resetState(): void {
  lastState = 0;
  lastRep0 = 0;
  lastRep1 = 0;
  lastRep2 = 0;
  lastRep3 = 0;
  for (let at = IS_MATCH; at < PROBABILITIES_END; at += 8) store<u64>(at, EVEN_FOUR);
}

/**
 * Decodes one chunk of LZMA2, which ends exactly where its input and its output end. Bytes from `oldest` on may be referred to.
 *
 * The range coder is one long chain, each bit waits for the one before it. So `range` and `code` must be locals of one function, and
 * its step stands here many times: whenever the range is small it is normalized, split at the bound, and the probability is adapted.
 * Where the bit decides what comes next there is a branch. In the trees there is none: the probabilities behind a zero and
 * behind a one are both loaded before the bit is known, as two loads (one of 32 bits would wait for the stores of 16), and one is selected.
 */
export function decodeLzma(from: u32, fromEnd: u32, to: u32, toEnd: u32, oldest: u32): u32 {
  if (load<u8>(from) !== 0) return DAMAGED;
  let range: u32 = 0xffff_ffff;
  let code: u32 = bswap<u32>(load<u32>(from, 1));
  from += 5;
  let state = lastState;
  let rep0 = lastRep0;
  let rep1 = lastRep1;
  let rep2 = lastRep2;
  let rep3 = lastRep3;
  if (state >= 7 && rep0 >= to - oldest) return DAMAGED;
  const literalBits = lc;
  const literalMask = lpMask;
  const positionMask = pbMask;
  const start = to - position;
  let previous: u32 = position === 0 ? 0 : load<u8>(to - 1);

  while (to < toEnd) {
    // a symbol takes less than 64 bytes, and every input has 64 bytes behind its end
    if (from > fromEnd) return DAMAGED;
    const posState = (to - start) & positionMask;
    if (range < TOP) {
      range <<= 8;
      code = (code << 8) | load<u8>(from++);
    }
    let at: u32 = IS_MATCH + (((state << 4) + posState) << 1);
    let p: u32 = load<u16>(at);
    let bound = boundOf(range, p);

    if (code < bound) {
      range = bound;
      store<u16>(at, afterZero(p));
      const context = (((to - start) & literalMask) << literalBits) + (previous >> (8 - literalBits));
      const set: u32 = LITERAL + context * (0x300 << 1);
      let symbol: u32 = 1;
      if (state < 7) {
        state = state < 4 ? 0 : state - 3;
        let q: u32 = load<u16>(set, 2);
        do {
          if (range < TOP) {
            range <<= 8;
            code = (code << 8) | load<u8>(from++);
          }
          const child = set + (symbol << 2);
          const ifZero: u32 = load<u16>(child);
          const ifOne: u32 = load<u16>(child, 2);
          bound = boundOf(range, q);
          const isOne = code >= bound;
          range = select<u32>(range - bound, bound, isOne);
          code = select<u32>(code - bound, code, isOne);
          store<u16>(set + (symbol << 1), afterBit(q, isOne));
          symbol = (symbol << 1) + u32(isOne);
          q = select<u32>(ifOne, ifZero, isOne);
        } while (symbol < 0x100);
      } else {
        // behind a match: the byte at rep0 chooses among two further trees, as long as it agrees
        state = state < 10 ? state - 3 : state - 6;
        let matchByte: u32 = (<u32>load<u8>(to - rep0 - 1)) << 1;
        let offset: u32 = 0x100;
        let matchBit = matchByte & 0x100;
        at = set + ((0x101 + matchBit) << 1);
        let q: u32 = load<u16>(at);
        do {
          if (range < TOP) {
            range <<= 8;
            code = (code << 8) | load<u8>(from++);
          }
          matchByte <<= 1;
          const offsetIfOne = offset & matchBit;
          const offsetIfZero = offset & ~matchBit;
          const atIfZero = set + ((offsetIfZero + (matchByte & offsetIfZero) + (symbol << 1)) << 1);
          const atIfOne = set + ((offsetIfOne + (matchByte & offsetIfOne) + (symbol << 1) + 1) << 1);
          const ifZero: u32 = load<u16>(atIfZero);
          const ifOne: u32 = load<u16>(atIfOne);
          bound = boundOf(range, q);
          const isOne = code >= bound;
          range = select<u32>(range - bound, bound, isOne);
          code = select<u32>(code - bound, code, isOne);
          store<u16>(at, afterBit(q, isOne));
          symbol = (symbol << 1) + u32(isOne);
          q = select<u32>(ifOne, ifZero, isOne);
          at = select<u32>(atIfOne, atIfZero, isOne);
          offset = select<u32>(offsetIfOne, offsetIfZero, isOne);
          matchBit = matchByte & offset;
        } while (symbol < 0x100);
      }
      store<u8>(to, symbol);
      previous = symbol & 0xff;
      to += 1;
      continue;
    }

    range -= bound;
    code -= bound;
    store<u16>(at, afterOne(p));
    if (range < TOP) {
      range <<= 8;
      code = (code << 8) | load<u8>(from++);
    }
    at = IS_REP + (state << 1);
    p = load<u16>(at);
    bound = boundOf(range, p);
    let lengths: u32;
    const isNew = code < bound;
    if (isNew) {
      range = bound;
      store<u16>(at, afterZero(p));
      rep3 = rep2;
      rep2 = rep1;
      rep1 = rep0;
      state = state < 7 ? 7 : 10;
      lengths = LENGTH;
    } else {
      range -= bound;
      code -= bound;
      store<u16>(at, afterOne(p));
      if (range < TOP) {
        range <<= 8;
        code = (code << 8) | load<u8>(from++);
      }
      at = IS_REP_G0 + (state << 1);
      p = load<u16>(at);
      bound = boundOf(range, p);
      if (code < bound) {
        range = bound;
        store<u16>(at, afterZero(p));
        if (range < TOP) {
          range <<= 8;
          code = (code << 8) | load<u8>(from++);
        }
        at = IS_REP0_LONG + (((state << 4) + posState) << 1);
        p = load<u16>(at);
        bound = boundOf(range, p);
        if (code < bound) {
          range = bound;
          store<u16>(at, afterZero(p));
          if (rep0 >= to - oldest) return DAMAGED;
          state = state < 7 ? 9 : 11;
          previous = load<u8>(to - rep0 - 1);
          store<u8>(to, previous);
          to += 1;
          continue;
        }
        range -= bound;
        code -= bound;
        store<u16>(at, afterOne(p));
      } else {
        range -= bound;
        code -= bound;
        store<u16>(at, afterOne(p));
        if (range < TOP) {
          range <<= 8;
          code = (code << 8) | load<u8>(from++);
        }
        at = IS_REP_G1 + (state << 1);
        p = load<u16>(at);
        bound = boundOf(range, p);
        let distance = rep1;
        if (code < bound) {
          range = bound;
          store<u16>(at, afterZero(p));
        } else {
          range -= bound;
          code -= bound;
          store<u16>(at, afterOne(p));
          if (range < TOP) {
            range <<= 8;
            code = (code << 8) | load<u8>(from++);
          }
          at = IS_REP_G2 + (state << 1);
          p = load<u16>(at);
          bound = boundOf(range, p);
          if (code < bound) {
            range = bound;
            store<u16>(at, afterZero(p));
            distance = rep2;
          } else {
            range -= bound;
            code -= bound;
            store<u16>(at, afterOne(p));
            distance = rep3;
            rep3 = rep2;
          }
          rep2 = rep1;
        }
        rep1 = rep0;
        rep0 = distance;
      }
      state = state < 7 ? 8 : 11;
      lengths = REP_LENGTH;
    }

    // the length: 2 to 9, 10 to 17 or 18 to 273
    if (range < TOP) {
      range <<= 8;
      code = (code << 8) | load<u8>(from++);
    }
    p = load<u16>(lengths);
    bound = boundOf(range, p);
    let tree = lengths + 4 + (posState << 4);
    let leaves: u32 = 8;
    let length: u32 = 2;
    if (code < bound) {
      range = bound;
      store<u16>(lengths, afterZero(p));
    } else {
      range -= bound;
      code -= bound;
      store<u16>(lengths, afterOne(p));
      if (range < TOP) {
        range <<= 8;
        code = (code << 8) | load<u8>(from++);
      }
      p = load<u16>(lengths, 2);
      bound = boundOf(range, p);
      if (code < bound) {
        range = bound;
        store<u16>(lengths, afterZero(p), 2);
        tree += 16 << 4;
        length = 10;
      } else {
        range -= bound;
        code -= bound;
        store<u16>(lengths, afterOne(p), 2);
        tree = lengths + 4 + (32 << 4);
        leaves = 256;
        length = 18;
      }
    }
    let symbol: u32 = 1;
    let q: u32 = load<u16>(tree, 2);
    do {
      if (range < TOP) {
        range <<= 8;
        code = (code << 8) | load<u8>(from++);
      }
      const child = tree + (symbol << 2);
      const ifZero: u32 = load<u16>(child);
      const ifOne: u32 = load<u16>(child, 2);
      bound = boundOf(range, q);
      const isOne = code >= bound;
      range = select<u32>(range - bound, bound, isOne);
      code = select<u32>(code - bound, code, isOne);
      store<u16>(tree + (symbol << 1), afterBit(q, isOne));
      symbol = (symbol << 1) + u32(isOne);
      q = select<u32>(ifOne, ifZero, isOne);
    } while (symbol < leaves);
    length += symbol - leaves;

    if (isNew) {
      tree = POS_SLOT + (min<u32>(length - 2, 3) << 7);
      symbol = 1;
      q = load<u16>(tree, 2);
      do {
        if (range < TOP) {
          range <<= 8;
          code = (code << 8) | load<u8>(from++);
        }
        const child = tree + (symbol << 2);
        const ifZero: u32 = load<u16>(child);
        const ifOne: u32 = load<u16>(child, 2);
        bound = boundOf(range, q);
        const isOne = code >= bound;
        range = select<u32>(range - bound, bound, isOne);
        code = select<u32>(code - bound, code, isOne);
        store<u16>(tree + (symbol << 1), afterBit(q, isOne));
        symbol = (symbol << 1) + u32(isOne);
        q = select<u32>(ifOne, ifZero, isOne);
      } while (symbol < 64);
      const slot = symbol - 64;
      rep0 = slot;
      if (slot >= 4) {
        let bits: u32 = (slot >> 1) - 1;
        rep0 = 2 | (slot & 1);
        if (slot < 14) {
          rep0 <<= bits;
          tree = POS_SPECIAL + ((rep0 - slot) << 1);
        } else {
          // the bits in the middle are as likely ones as zeros
          bits -= 4;
          do {
            if (range < TOP) {
              range <<= 8;
              code = (code << 8) | load<u8>(from++);
            }
            range >>= 1;
            const isOne = code >= range;
            code = select<u32>(code - range, code, isOne);
            rep0 = (rep0 << 1) + u32(isOne);
            bits -= 1;
          } while (bits);
          rep0 <<= 4;
          tree = ALIGN;
          bits = 4;
        }
        // the last ones come from the lowest on
        symbol = 1;
        let value: u32 = 1;
        q = load<u16>(tree, 2);
        do {
          if (range < TOP) {
            range <<= 8;
            code = (code << 8) | load<u8>(from++);
          }
          const child = tree + (symbol << 2);
          const ifZero: u32 = load<u16>(child);
          const ifOne: u32 = load<u16>(child, 2);
          bound = boundOf(range, q);
          const isOne = code >= bound;
          range = select<u32>(range - bound, bound, isOne);
          code = select<u32>(code - bound, code, isOne);
          store<u16>(tree + (symbol << 1), afterBit(q, isOne));
          symbol = (symbol << 1) + u32(isOne);
          q = select<u32>(ifOne, ifZero, isOne);
          rep0 += select<u32>(value, 0, isOne);
          value <<= 1;
          bits -= 1;
        } while (bits);
      }
    }

    if (rep0 >= to - oldest || length > toEnd - to) return DAMAGED;
    const end = to + length;
    copyMatch(to, end, rep0);
    to = end;
    previous = load<u8>(to - 1);
  }

  if (range < TOP) code = (code << 8) | load<u8>(from++);
  lastState = state;
  lastRep0 = rep0;
  lastRep1 = rep1;
  lastRep2 = rep2;
  lastRep3 = rep3;
  position = to - start;
  // an encoder leaves nothing over at its end
  return from === fromEnd && code === 0 ? OK : DAMAGED;
}

/** Up to seven bytes behind the end are overwritten too. */
function copyMatch(to: u32, end: u32, rep0: u32): void {
  let source = to - rep0 - 1;
  if (rep0 >= 7) {
    do {
      store<u64>(to, load<u64>(source));
      to += 8;
      source += 8;
    } while (to < end);
  } else if (rep0 === 0) {
    const fill: u64 = <u64>load<u8>(source) * (u64.MAX_VALUE / 255);
    do {
      store<u64>(to, fill);
      to += 8;
    } while (to < end);
  } else {
    do {
      store<u8>(to, load<u8>(source));
      to += 1;
      source += 1;
    } while (to < end);
  }
}
