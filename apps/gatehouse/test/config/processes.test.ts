import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { readProcesses } from '../../src/config/environment/processes.ts'
import { Faults } from '../../src/config/faults.ts'

function read(environment: Record<string, string>, ...services: string[]): number | string {
  const faults = new Faults()
  const count = readProcesses((name) => environment[name], new Set(services), faults)
  try {
    faults.throwIfAny()
    return count
  } catch (error) {
    return (error as Error).message
  }
}

const servers = { DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x' }

test('PROCESSES is 1 by default, a number, or one for each processor', () => {
  assert.equal(read({}, 'identity', 'notify', 'gateway'), 1)
  assert.equal(read({ PROCESSES: '1' }, 'notify'), 1)
  assert.equal(read({ PROCESSES: '4', ...servers }, 'identity', 'notify', 'gateway'), 4)
  assert.equal(read({ PROCESSES: 'auto', ...servers }, 'identity'), availableParallelism())
})

test('PROCESSES that is no number of processes is rejected', () => {
  for (const value of ['0', '129', '2.5', '-1', 'all'])
    assert.match(
      String(read({ PROCESSES: value, ...servers }, 'notify')),
      /^PROCESSES: must be auto, or a whole number/,
    )
})

test('several processes are refused where one would keep for itself what they have to share', () => {
  const embedded = read({ PROCESSES: '2' }, 'identity', 'notify', 'gateway')
  assert.match(String(embedded), /needs DATABASE_URL: the embedded database belongs to one process/)
  assert.match(String(embedded), /needs REDIS_URL: each process would count/)
  for (const service of ['identity', 'notify', 'console'])
    assert.match(String(read({ PROCESSES: 'auto' }, service)), /needs DATABASE_URL/, service)
  assert.match(String(read({ PROCESSES: '2', REDIS_URL: 'redis://x' }, 'gateway')), /needs ENCRYPTION_KEY/)
  assert.equal(read({ PROCESSES: '2', DATABASE_URL: 'postgres://x' }, 'notify'), 2)
})
