/** Flags that a Node of this version needs for relaxed SIMD: one for Node 20, none for newer ones. */
export declare function nodeFlags(version?: string): string[]
