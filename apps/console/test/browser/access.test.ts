import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey, OAuthClient, SigningKey } from '@gatehouse/client'
import {
  clientKinds,
  idFor,
  membersOf,
  newValues,
  registrationOf,
  risksOf,
  valuesOf,
} from '../../src/browser/screens/access/clients/registration.ts'
import { marksOf, searchFor } from '../../src/browser/screens/access/keys/key-marks.ts'
import { overdueCause, timelinesOf } from '../../src/browser/screens/access/keys/key-timeline.ts'

const dayMs = 86_400_000
const now = Date.parse('2026-11-23T00:00:00Z')
const day = (days: number) => new Date(now + days * dayMs).toISOString()
const stamps = { created_at: day(0), updated_at: day(0) }

test('each kind of client is registered with the grant and the secret that it needs', () => {
  const found = clientKinds.map((kind) => {
    const { grant_types, token_endpoint_auth_method, may_introspect } = registrationOf(kind, 'x', newValues(kind))
    return [kind, grant_types?.[0]?.replace(/.*:/, ''), token_endpoint_auth_method, may_introspect]
  })
  assert.deepEqual(found, [
    ['web', 'authorization_code', 'client_secret_basic', undefined],
    ['page', 'authorization_code', 'none', undefined],
    ['mobile', 'authorization_code', 'none', undefined],
    ['service', 'client_credentials', 'client_secret_basic', undefined],
    ['device', 'device_code', 'none', undefined],
    ['api', 'client_credentials', 'client_secret_basic', true],
  ])
})

test('scopes and addresses are sent without the spaces and empty lines that were typed', () => {
  const values = {
    ...newValues('web'),
    scopes: ['openid ', 'a b', 'openid'],
    redirect_uris: ' https://a.example/x \n\n',
  }
  const { scopes, redirect_uris } = registrationOf('web', 'x', values)
  assert.deepEqual([scopes, redirect_uris], [['openid', 'a', 'b'], ['https://a.example/x']])
})

test('an edit sends the members that were changed, and no others', () => {
  const client: OAuthClient = { client_id: 'x', client_name: 'X', scopes: ['a'], plan: 'pro', ...stamps }
  const base = valuesOf(client)
  assert.deepEqual(membersOf(base, base), {})
  assert.deepEqual(membersOf({ ...base, require_pkce: false, allowed_origins: 'https://a.example' }, base), {
    require_pkce: false,
    allowed_origins: ['https://a.example'],
  })
})

test('an id is made from a name, of letters, digits and hyphens', () => {
  assert.deepEqual(['Müller & Söhne GmbH', ' -- ', 'Shop 2'].map(idFor), ['muller-sohne-gmbh', '', 'shop-2'])
})

test('what makes a client less safe is named', () => {
  const risks = (members: Partial<OAuthClient>) => risksOf({ client_id: 'x', ...stamps, ...members })
  assert.deepEqual(risks({ redirect_uris: ['http://localhost:1/x', 'https://a.example/'] }), [])
  assert.deepEqual(risks({ redirect_uris: ['http://a.example/'] }), ['plainHttp'])
  assert.deepEqual(risks({ require_pkce: false, first_party: true, scopes: ['admin:users'] }), [
    'noPkce',
    'skipsConsent',
    'administers',
  ])
})

test('a key is marked when unused for 90 days, without expiry, expired or just rotated', () => {
  const key: ApiKey = {
    id: '1',
    owner: 'x',
    name: 'k',
    scopes: [],
    prefix: 'gk_123456',
    etag: '"1"',
    counter_id: 'h',
    created_at: day(-100),
    expires_at: day(1),
  }
  assert.deepEqual(marksOf(key, now), ['unused'])
  assert.deepEqual(marksOf({ ...key, last_used_at: day(-89) }, now), [])
  assert.deepEqual(marksOf({ ...key, expires_at: day(0) }, now), ['expired'])
  const { expires_at: _, ...endless } = key
  assert.deepEqual(marksOf({ ...endless, created_at: day(-1), previous_key_expires_at: day(1) }, now), [
    'noExpiry',
    'twoKeys',
  ])
})

test('a search for a whole key sends its beginning alone', () => {
  assert.equal(searchFor(` gk_${'a'.repeat(43)}`), 'gk_aaaaaa')
  assert.equal(searchFor('nightly'), 'nightly')
})

test('the time line has each key published, signing, and then only verifying', () => {
  const keys: SigningKey[] = [
    { kid: 'new', alg: 'ES256', state: 'next', created_at: day(0), activates_at: day(1) },
    {
      kid: 'old',
      alg: 'ES256',
      state: 'active',
      created_at: day(-9),
      activates_at: day(-8),
      due_at: day(1),
      expires_at: day(2),
    },
  ]
  const [line, ...others] = timelinesOf(keys, now)
  assert.deepEqual([line?.alg, line?.from, line?.to, others.length], ['ES256', now - 9 * dayMs, now + 2 * dayMs, 0])
  const spans = line?.lines.map(({ spans }) => spans.map(({ what, from, to }) => [what, from * 11, to * 11]))
  const rounded = spans?.map((some) =>
    some.map(([what, from, to]) => [what, Math.round(Number(from)), Math.round(Number(to))]),
  )
  assert.deepEqual(rounded, [
    [['published', 9, 10]],
    [
      ['published', 0, 1],
      ['signing', 1, 10],
      ['retiring', 10, 11],
    ],
  ])
  assert.deepEqual(
    line?.lines.map(({ isOverdue }) => isOverdue),
    [false, false],
  )
})

test('a key whose successor should sign already is overdue, and says why', () => {
  const key: SigningKey = {
    kid: 'old',
    alg: 'RS256',
    state: 'active',
    created_at: day(-99),
    activates_at: day(-99),
    due_at: day(-9),
  }
  assert.equal(timelinesOf([key], now)[0]?.lines[0]?.isOverdue, true)
  assert.equal(overdueCause([key]), 'stopped')
  assert.equal(overdueCause([key, { ...key, kid: 'other', unreadable: true }]), 'unreadable')
})

test('the policy of a client is set by name and ended by null', () => {
  const base = newValues('service')
  assert.deepEqual(membersOf({ ...base, policy: 'partners' }, base), { policy: 'partners' })
  assert.deepEqual(membersOf(base, { ...base, policy: 'partners' }), { policy: null })
  assert.equal(registrationOf('service', 'x', { ...base, policy: 'partners' }).policy, 'partners')
  assert.equal('policy' in registrationOf('service', 'x', base), false)
})
