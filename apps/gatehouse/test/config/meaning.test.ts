import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { readConfig } from '../../src/config/config.ts'

async function faultsOf(text: string, environment: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, text)
  try {
    await readConfig({ ...environment, GATEHOUSE_CONFIG: path })
    return []
  } catch (error) {
    assert.ok(error instanceof StartError, String(error))
    return error.message.split('\n').map((line) => line.replace(path, 'file'))
  }
}

test('faults that a schema cannot express are all reported at once', async () => {
  const faults = await faultsOf(`tiers:
  free: { rpm: 10 }
clients:
  - { client_id: shop, plan: gold }
  - { client_id: shop, policy: partners }
users:
  - { id: ann, plan: free }
event_types:
  - { event: a.b, channels: [] }
  - { event: a.b, channels: [] }
recipients:
  - { user_id: ann, zoneinfo: Mars/Crater, locale: "not a tag" }
notify: { zone: Mars/X }
templates: ./nowhere
trusted_proxies: ["999.0.0.0/8", 10.0.0.0/8]
upstreams: { notify: { url: "http://127.0.0.1:1" } }
routes:
  - { path: /orders, upstream: orders }
`)
  assert.deepEqual(faults.map((fault) => fault.split(' ').slice(0, 2).join(' ')).sort(), [
    'file:10: event_types.1.event',
    'file:12: recipients.0.locale',
    'file:12: recipients.0.zoneinfo',
    'file:13: notify.zone',
    'file:14: templates',
    'file:15: trusted_proxies.0',
    'file:16: upstreams.notify',
    'file:18: routes.0.upstream',
    'file:4: clients.0.plan',
    'file:5: clients.1.client_id',
    'file:5: clients.1.policy',
  ])
})

test('the time zone and the language of a user are checked as those of a recipient are', async () => {
  const faults = await faultsOf(`users:
  - { id: ann, claims: { zoneinfo: Europe/Londn, locale: "not a tag" } }
  - { id: bob, claims: { zoneinfo: 7, locale: [en] } }
  - { id: cid, claims: { zoneinfo: Europe/London, locale: en-GB, name: Cid } }
`)
  const zone = 'must be an IANA time zone such as Europe/Berlin'
  const locale = 'must be a language tag such as en or pt-BR'
  assert.deepEqual(faults.sort(), [
    `file:2: users.0.claims.locale ${locale}`,
    `file:2: users.0.claims.zoneinfo ${zone}`,
    `file:3: users.1.claims.locale ${locale}`,
    `file:3: users.1.claims.zoneinfo ${zone}`,
  ])
})

test('a route can require only a sign-in that a credential of it can have', async () => {
  const route = (members: string) => `upstreams: { app: { url: "http://127.0.0.1:1" } }
routes:
  - { path: /app, upstream: app, ${members} }
`
  const cases: [members: string, faults: RegExp][] = [
    [
      'require_acr: mfa',
      /^file:3: routes\.0\.require_acr must be one of urn:oasis:.*, urn:gatehouse:acr:mfa, phr, phrh/,
    ],
    ['require_acr: phr, public: true', /^file:3: routes\.0 can require no sign-in .* with public: true/],
    ['max_age_seconds: 300, public: true', /^file:3: routes\.0 can require no sign-in .* with public: true/],
    ['max_age_seconds: 0', /^file:3: routes\.0\.max_age_seconds/],
    ['max_age_seconds: 1.5', /^file:3: routes\.0\.max_age_seconds/],
    ['require_acr: "phr phrh"', /^file:3: routes\.0\.require_acr/],
  ]
  for (const [members, expected] of cases) assert.match((await faultsOf(route(members))).join('\n'), expected, members)
  assert.deepEqual(await faultsOf(route('require_acr: "urn:gatehouse:acr:mfa", max_age_seconds: 300')), [])
  const other = { SERVICES: 'gateway', ISSUER: 'https://idp.example', ISSUER_ACR_VALUES: 'silver,gold' }
  const theirs = await faultsOf(route('require_acr: gold'), other)
  assert.ok(!theirs.some((fault) => fault.includes('require_acr')), theirs.join('\n'))
  const keysOnly = await faultsOf(route('max_age_seconds: 300'), { SERVICES: 'gateway' })
  assert.ok(
    keysOnly.some((fault) => /routes\.0 requires a sign-in, but this process takes API keys only/.test(fault)),
    keysOnly.join('\n'),
  )
})

test('a tier whose name no plan could have is named, with its line', async () => {
  const faults = await faultsOf('tiers:\n  Pro: { rpm: 1 }\n')
  assert.match(faults.join(), /^file:2: tiers\.Pro: .*Lower-case letters, digits and -/)
})

test('no tier at all, and an address of two users, are named with their lines', async () => {
  assert.deepEqual(await faultsOf('users: [{ id: ann }]\ntiers: {}\n'), ['file:2: tiers must have at least one'])
  const users = 'users:\n  - { id: ann, email: a@b.example }\n  - { id: bob }\n  - { id: eve, email: A@B.example }\n'
  assert.deepEqual(await faultsOf(users), ['file:4: users.2.email is declared twice: a@b.example'])
})

test('what an address and a path begin with is named where it is missing', async () => {
  const faults = await faultsOf('upstreams: { o: { url: "localhost:1" } }\nroutes:\n  - { path: "o/*", upstream: o }\n')
  assert.match(faults[0] ?? '', /^file:1: upstreams\.o\.url .* begins with http:\/\/ or https:\/\//)
  assert.match(faults[1] ?? '', /^file:3: routes\.0\.path .* begins with \//)
})

test('a registration that no client or user can have is named with its line', async () => {
  const faults = await faultsOf(`clients:
  - { client_id: web, token_endpoint_auth_method: none, redirect_uris: ["http://shop.example/cb"] }
  - { client_id: app, token_endpoint_auth_method: none }
users:
  - { id: ann, roles: [editor, gatehouse-admin] }
connections:
  - { id: google, kind: google, client_id: x }
organizations:
  - { id: acme }
  - { id: acme }
`)
  assert.deepEqual(faults, [
    'file:10: organizations.1.id is declared twice: acme',
    'file:2: clients.0.redirect_uris.0 must use https, except on localhost',
    'file:3: clients.1.grant_types must not include client_credentials for a public client; without redirect_uris it is the default',
    'file:5: users.0.roles.1 begins with gatehouse-, so must be one of gatehouse-owner, gatehouse-operator, gatehouse-support, gatehouse-auditor',
    'file:7: connections.0.client_secret is required for the kind google',
  ])
})

test('a route can name only a policy or tier that there is', async () => {
  const file = (policy: string) =>
    `tiers: { free: { rpm: 1 } }\npolicies: { search: { rpm: 5 } }\nroutes:\n  - { path: /search, policy: ${policy} }\n`
  assert.match(
    (await faultsOf(file('gold'))).join('\n'),
    /^file:4: routes\.0\.policy must be a policy or tier: .*search, free, or none$/,
  )
  for (const policy of ['search', 'free', 'none', 'login']) assert.deepEqual(await faultsOf(file(policy)), [], policy)
})

test('a template that an event type names must be in the folder', async () => {
  const folder = temporaryFolder('templates')
  const faults = await faultsOf(
    `templates: ${folder}\nevent_types:\n  - { event: a, channels: [], template_id: missing }\n`,
  )
  assert.match(faults.join(), /^file:3: event_types\.0\.template_id is not in .*: missing$/)
})
