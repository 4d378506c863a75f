/** AssemblyScript's word, so that layout.ts reads the same on both sides. */
declare type u32 = number;
