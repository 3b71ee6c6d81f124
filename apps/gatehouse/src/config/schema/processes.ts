import { Type } from 'typebox'
import { maxProcesses } from '../environment/processes.ts'

/** How many processes serve the port. */
export const Processes = Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: maxProcesses })], {
  description:
    'As PROCESSES, which wins over it: worker processes that share the port; auto is one for each processor. More than one needs DATABASE_URL and, with the gateway, REDIS_URL.',
  default: 1,
})
