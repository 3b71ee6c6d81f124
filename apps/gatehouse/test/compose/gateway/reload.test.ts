import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Identity } from '@gatehouse/identity'
import { createHttp, createMetrics, StartError, silentLog, systemClock } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { openCounters } from '../../../src/compose/gateway/counters.ts'
import { composeIngress } from '../../../src/compose/gateway/ingress.ts'
import type { Dispose } from '../../../src/compose/parts.ts'
import { readConfig } from '../../../src/config/config.ts'
import { reloadLogged } from '../../../src/process/lifecycle.ts'

const stored = {
  version: 1,
  etag: '"1"',
  document: { tiers: { free: { rpm: 10 } }, policies: { anonymous: { daily: 7 } } },
  overrides: [],
  clients: [],
}

/** The ingress of a process whose identity stores limits, or none, and answers `applyFile`. */
async function compose(limits: { readonly stored?: typeof stored; readonly applyFile: () => Promise<void> }) {
  const folder = temporaryFolder('reload')
  const file = async (daily: number) => {
    const path = join(folder, 'gatehouse.yaml')
    writeFileSync(path, `policies: { anonymous: { daily: ${daily} } }\n`)
    return readConfig({ GATEHOUSE_CONFIG: path, DATA_DIR: folder, SERVICES: 'identity,gateway' })
  }
  const config = await file(5)
  const log = silentLog
  const metrics = createMetrics()
  const resources: Dispose[] = []
  const counters = { ...(await openCounters(config, undefined, log, metrics)), areShared: true }
  const http = createHttp({ log })
  const addressOf = () => '192.0.2.1'
  const recordChange = async () => {}
  const parts = { config, log, metrics, clock: systemClock, addressOf, token: undefined, recordChange, resources }
  const identity = {
    limits: { read: async () => limits.stored, report: async () => {}, applyFile: limits.applyFile },
  } as unknown as Identity
  const ingress = await composeIngress(parts, http, { counters, keys: undefined }, () => identity)
  await http.ready()
  return {
    ingress,
    file,
    limit: async () => (await http.inject('/nowhere')).headers['x-ratelimit-limit'],
    async close() {
      for (const dispose of resources.reverse()) await dispose()
      await http.close()
    },
  }
}

test('where the file can not be stored, the limits of this process stay as they were too', async (t) => {
  const app = await compose({ applyFile: async () => Promise.reject(new Error('the database is away')) })
  t.after(app.close)
  assert.equal(await app.limit(), '5')
  await assert.rejects(app.ingress.reload(await app.file(3)), /the database is away/)
  assert.equal(await app.limit(), '5')
})

test('the file applies where nothing is stored', async (t) => {
  const app = await compose({ applyFile: async () => {} })
  t.after(app.close)
  assert.equal(await app.ingress.reload(await app.file(3)), 'file')
  assert.equal(await app.limit(), '3')
})

test('what is stored stays where there is no file, and the reload says so', async (t) => {
  const app = await compose({ stored, applyFile: async () => {} })
  t.after(app.close)
  await app.ingress.follow()
  const { path: _none, ...config } = await app.file(3)
  assert.equal(await app.ingress.reload({ ...config, file: {} }), 'stored')
  assert.equal(await app.limit(), '7')
})

/** What a reload logs: the level and the message. */
async function logged(reload: () => Promise<'file' | 'stored'>): Promise<string> {
  const lines: string[] = []
  const log = {
    info: (message: string) => lines.push(`info ${message}`),
    error: (_: object, message: string) => lines.push(`error ${message}`),
  } as unknown as typeof silentLog
  await reloadLogged(reload, log)
  return lines.join('\n')
}

test('a reload says what became of it, and why the limits stay as they were', async () => {
  assert.match(await logged(async () => 'file'), /^info tiers and policies are those of the file now$/)
  assert.match(await logged(async () => 'stored'), /^info tiers and policies are those that identity stores/)
  const fails = (error: Error) => logged(() => Promise.reject(error))
  assert.match(await fails(new RangeError('no such policy')), /^error the file is not valid: .* stay as they were$/)
  assert.match(await fails(new StartError('gatehouse.yaml:1: …')), /^error the file is not valid/)
  assert.match(
    await fails(new Error('the database is away')),
    /^error the file could not be applied.* stay as they were$/,
  )
})
