/** Whether this machine can run the software driver. */
export declare const hasSoftwareGpu: boolean
/** Unpacks the driver once; variables for the environment of a process that shall see the software adapter. */
export declare function softwareGpuEnvironment(): Record<string, string>
