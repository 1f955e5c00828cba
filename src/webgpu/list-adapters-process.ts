/**
 * Names this machine's adapters to the process that started this one, and ends. Dawn names all of them in the error for
 * a name that none has; it also prints what its drivers say, and a broken driver ends the process that loads it: so it
 * happens here.
 */
import type { AdapterReport } from './list-adapters.ts'

/** No adapter has this name. */
const NO_ADAPTER = 'wgzk: list the adapters'

/** `backend: 'vulkan', name: 'NVIDIA H200'`, one a line. */
const LINE = /backend: '([^']*)', name: '(.*)'$/gm

async function report(): Promise<AdapterReport> {
  let webgpu: typeof import('webgpu')
  try {
    webgpu = await import('webgpu')
  } catch (error) {
    return { adapters: [], reason: `the package webgpu can't be loaded: ${(error as Error).message.split('\n')[0]}` }
  }
  try {
    await webgpu.create([`adapter=${NO_ADAPTER}`]).requestAdapter({})
    return { adapters: [] }
  } catch (error) {
    const adapters = [...(error as Error).message.matchAll(LINE)].map(([, backend = '', name = '']) => ({
      backend,
      name,
    }))
    return { adapters }
  }
}

process.send?.(await report(), () => process.exit(0))
