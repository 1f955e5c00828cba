/** Entry of a device's worker: a thread, or a child process. */
import { parentPort } from 'node:worker_threads'
import { deviceFunctions } from './device-functions.ts'
import { endProcess, serveProcess } from './process-link.ts'
import { endWorker, serveWorker } from './worker-link.ts'

if (parentPort === null) serveProcess(deviceFunctions(endProcess))
else serveWorker(deviceFunctions(endWorker))
