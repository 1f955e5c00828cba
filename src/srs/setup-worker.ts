/** Entry of the worker that makes development parameters: a thread, or for a GPU a child process. */
import { parentPort } from 'node:worker_threads'
import { serveProcess } from '../device/process-link.ts'
import { serveWorker } from '../device/worker-link.ts'
import { setupFunctions } from './setup-functions.ts'

if (parentPort === null) serveProcess(setupFunctions)
else serveWorker(setupFunctions)
