/** A device's process with a fault in its WebGPU device, as WGZK_TEST_FAULT says. */
import { deviceFunctions } from '../../dist/device/device-functions.js'
import { endProcess, serveProcess } from '../../dist/device/process-link.js'
import { WebGpuDevice } from '../../dist/webgpu/webgpu-device.js'

const fault = process.env.WGZK_TEST_FAULT

/** Kernels compile slowly on the software GPU; what is tested here needs none. */
const untested = async () => {}

const faults = {
  lose(device) {
    device.selfTest = untested
    const { loadShape } = device
    device.loadShape = (shape) => {
      device.gpu.device.destroy()
      return loadShape.call(device, shape)
    }
  },
  exit(device) {
    device.selfTest = untested
    device.loadShape = () => endProcess(new Error('gone'))
  },
  'out-of-memory'(device) {
    device.selfTest = untested
  },
  'bad-shader'(device) {
    device.selfTest = untested
    device.loadShape = async () => {
      const kernel = { name: 'broken', fields: [], parts: [], generated: 'fn main( {', entry: 'main', bindings: [] }
      await device.gpu.prepare([kernel])
    }
  },
  wrong(device) {
    device.selfTest = async () => {
      throw new Error(`${device.name} computes a transform wrong`)
    }
  },
}

const create = WebGpuDevice.create
WebGpuDevice.create = async (options) => {
  const device = await create.call(WebGpuDevice, options)
  faults[fault](device)
  return device
}
serveProcess(deviceFunctions(endProcess))
