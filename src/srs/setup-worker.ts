/** Entry of the worker that makes development parameters. */
import { serveWorker } from '../device/worker-link.ts'
import { setupFunctions } from './setup-functions.ts'

serveWorker(setupFunctions)
