import { availableParallelism } from 'node:os'
import type { Faults } from '../faults.ts'

/** The most worker processes of one supervisor. */
export const maxProcesses = 128

const expected = `must be auto, or a whole number from 1 to ${maxProcesses}`

/**
 * How many worker processes share the port: PROCESSES, where `auto` is one for each processor. More than one, and auto on
 * any machine, needs what the workers share in servers: what one process keeps in itself would be there n times.
 */
export function readProcesses(
  text: (name: string) => string | undefined,
  services: ReadonlySet<string>,
  faults: Faults,
): number {
  const value = text('PROCESSES')
  if (value === undefined || value === '1') return 1
  const count = value === 'auto' ? availableParallelism() : Number(value)
  if (value !== 'auto' && !(/^\d+$/.test(value) && count >= 1 && count <= maxProcesses)) {
    faults.add('PROCESSES', `${expected}, not ${JSON.stringify(value)}`)
    return 1
  }
  const need = (name: string, reason: string) => {
    if (text(name) === undefined) faults.add('PROCESSES', `with ${JSON.stringify(value)} needs ${name}: ${reason}`)
  }
  if (['identity', 'notify', 'console'].some((service) => services.has(service)))
    need('DATABASE_URL', 'the embedded database belongs to one process')
  if (services.has('gateway')) {
    need('REDIS_URL', 'each process would count the limits in its own memory')
    if (!services.has('identity'))
      need('ENCRYPTION_KEY', 'each process would sign the contexts of callers with its own key')
  }
  return Math.min(count, maxProcesses)
}
