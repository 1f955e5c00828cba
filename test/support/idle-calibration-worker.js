/** A device's process that calibrates its GPU when idle, though it is a software one. */
import { deviceFunctions } from '../../dist/device/device-functions.js'
import { GpuCalibration } from '../../dist/device/gpu-calibration.js'
import { endProcess, serveProcess } from '../../dist/device/process-link.js'

GpuCalibration.prototype.wanted = () => true
serveProcess(deviceFunctions(endProcess))
