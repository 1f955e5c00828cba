/** @returns the path of a Node 24, fetched if need be, or undefined where the package has none for this platform */
export declare function node24(): string | undefined
