import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { nodeFlags } from './scripts/node-flags.js'

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Processes, not threads: V8's flags are of a whole process, and tests start worker threads of their own.
    pool: 'forks',
    execArgv: nodeFlags(),
    // Proof and kernel tests use every core themselves; more files at once would only share them.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

export default config
