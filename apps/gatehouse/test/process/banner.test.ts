import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Secret } from '@gatehouse/kit'
import { readConfig } from '../../src/config/config.ts'
import { declaresTour, requestsOverPlan } from '../../src/config/tour.ts'
import { banner } from '../../src/process/banner.ts'
import { root } from '../support/program.ts'

const options = {
  version: '1.0.0',
  baseUrl: 'http://localhost:8080',
  authUrl: 'http://localhost:8080',
  host: '127.0.0.1',
  port: 8080,
  services: ['identity', 'notify', 'gateway'],
  milliseconds: 1_900,
  processes: 1,
  database: 'PostgreSQL',
  counters: 'in memory',
  mailbox: false,
  devInbox: false,
  devPagesForAll: false,
  metricsUrl: undefined,
  seeded: [
    { kind: 'client', id: 'other', secret: new Secret('not-this-one'), detail: '' },
    { kind: 'client', id: 'demo', secret: new Secret('shown-once'), detail: '' },
  ],
} as const

test('the lines to paste carry the secret of the client that they use', () => {
  assert.match(banner({ ...options, tour: true }), /\/token -u 'demo:shown-once'/)
})

test('the README and the lines to paste send as many requests to exceed a plan', () => {
  const loop = `$(seq ${requestsOverPlan.client})`
  const printed = banner({ ...options, services: ['identity', 'gateway'], tour: true })
  for (const text of [readFileSync(`${root}/README.md`, 'utf8'), printed]) assert.ok(text.includes(loop), loop)
})

test('lines to paste are printed only while the file declares what they use', async () => {
  const { file } = await readConfig({ GATEHOUSE_CONFIG: `${root}/gatehouse.yaml` })
  assert.equal(declaresTour(file), true)
  assert.equal(declaresTour({ ...file, users: [{ id: 'bob' }] }), false)
  assert.equal(declaresTour({ ...file, clients: [] }), false)
  assert.equal(declaresTour({ ...file, event_types: [] }), false)
  assert.doesNotMatch(banner({ ...options, tour: false }), /curl/)
})

test('pages that are open to everybody are shouted about, and no others are', () => {
  assert.match(banner({ ...options, tour: false, devPagesForAll: true }), /WARNING +DEV_PAGES ARE ON FOR EVERYBODY/)
  assert.doesNotMatch(banner({ ...options, tour: false }), /WARNING/)
})

test('a service behind the gateway is said to be where it listens itself', () => {
  const behind = { ...options, baseUrl: 'https://api.example.com', tour: false, port: 8082 }
  const notify = banner({ ...behind, services: ['notify'] })
  assert.match(notify, /is ready after 1\.9 s at http:\/\/localhost:8082 \(notify\)/)
  assert.match(notify, /API +http:\/\/localhost:8082\/docs, http:\/\/localhost:8082\/openapi\.json/)
  assert.match(notify, /Operations +http:\/\/localhost:8082\/healthz, http:\/\/localhost:8082\/readyz/)
  assert.doesNotMatch(notify, /api\.example\.com/)
  assert.match(banner({ ...behind, services: ['notify'], host: '10.0.0.7' }), / at http:\/\/10\.0\.0\.7:8082 /)
  assert.match(banner({ ...behind, services: ['notify'], host: '::' }), / at http:\/\/localhost:8082 /)
  assert.match(banner({ ...behind, services: ['notify'], host: 'fd00::7' }), / at http:\/\/\[fd00::7\]:8082 /)
  assert.match(banner({ ...behind, services: ['gateway'] }), /Operations +https:\/\/api\.example\.com\/healthz/)
})
