import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AuthenticateOptions,
  BearerError,
  type BearerErrorReason,
  createIntrospection,
  gatehouseAcrOrder,
  wwwAuthenticate,
} from '../../src/index.ts'
import { audience, goodClaims, issuer, setup } from '../support/issuer.ts'

const mfa = 'urn:gatehouse:acr:mfa'
const [singleFactor = ''] = gatehouseAcrOrder

/** The refusal of a token with these claims; undefined when it is accepted. */
async function refusalOf(
  claims: object,
  options: AuthenticateOptions,
  server: Parameters<typeof setup>[0] = {},
): Promise<BearerError | undefined> {
  const { bearer, token } = await setup(server)
  const header = `Bearer ${await token(claims)}`
  try {
    await bearer.authenticate(header, options)
    return undefined
  } catch (error) {
    assert.ok(error instanceof BearerError, String(error))
    return error
  }
}

test('a class is met by itself and by every stronger one', async () => {
  for (const [rank, required] of gatehouseAcrOrder.entries())
    for (const [actualRank, acr] of gatehouseAcrOrder.entries()) {
      const refusal = await refusalOf({ acr }, { requireAcr: required })
      assert.equal(refusal?.reason, actualRank < rank ? 'acr' : undefined, `${acr} for ${required}`)
    }
})

test('a class outside of the order is met by itself alone, and of several one is enough', async () => {
  const cases: [acr: unknown, requireAcr: string | string[], reason: BearerErrorReason | undefined][] = [
    ['gold', 'gold', undefined],
    ['phrh', 'gold', 'acr'],
    ['gold', 'phr', 'acr'],
    ['gold', ['phr', 'gold'], undefined],
    [mfa, ['phr', mfa], undefined],
    [singleFactor, ['phr', mfa], 'acr'],
    [undefined, mfa, 'acr'],
    [undefined, 'undefined', 'acr'],
    ['', mfa, 'acr'],
    [2, mfa, 'acr'],
    [['phr'], 'phr', 'acr'],
  ]
  for (const [acr, requireAcr, reason] of cases)
    assert.equal((await refusalOf({ acr }, { requireAcr }))?.reason, reason, `${acr} for ${requireAcr}`)
})

test('another server has classes and an order of its own', async () => {
  const server = { acrOrder: ['0', '1', '2'] }
  assert.equal(await refusalOf({ acr: '2' }, { requireAcr: '1' }, server), undefined)
  assert.equal((await refusalOf({ acr: '0' }, { requireAcr: '1' }, server))?.reason, 'acr')
  assert.equal((await refusalOf({ acr: 'phrh' }, { requireAcr: mfa }, server))?.reason, 'acr')
})

test('a cached token is refused once its sign-in is older than the maximum and the clock skew', async () => {
  const { bearer, token, clock } = await setup({ clockSkewSeconds: 10 })
  const header = `Bearer ${await token({ auth_time: clock.now() / 1000 - 300 })}`
  const use = async (maxAge?: number) => (await bearer.authenticate(header, { maxAge })).authTime
  const authTime = clock.now() - 300_000
  assert.equal(await use(300), authTime)
  clock.advance(10_000)
  assert.equal(await use(300), authTime)
  clock.advance(1)
  await assert.rejects(use(300), { code: 'insufficient_user_authentication', reason: 'auth_time', status: 401 })
  assert.equal(await use(310), authTime, 'each endpoint has its own maximum')
  assert.equal(await use(), authTime, 'the refusal of one endpoint is not cached for the others')
})

test('a sign-in without a time, or of the future, is refused under a maximum age', async () => {
  const now = Date.UTC(2026, 0, 1) / 1000
  for (const auth_time of [undefined, null, '1767225600', [], now + 31])
    assert.equal((await refusalOf({ auth_time }, { maxAge: 300 }))?.reason, 'auth_time', String(auth_time))
  assert.equal(await refusalOf({ auth_time: now + 30 }, { maxAge: 300 }), undefined)
  assert.equal(await refusalOf({ auth_time: 'x', acr: 2 }, {}), undefined, 'neither matters where none is required')
})

test("a client's own token is refused wherever a sign-in is required", async () => {
  const own = { sub: 'shop', client_id: 'shop', acr: 'phrh', auth_time: Date.UTC(2026, 0, 1) / 1000 }
  for (const options of [{ requireAcr: mfa }, { maxAge: 300 }]) {
    const refusal = await refusalOf(own, options)
    assert.equal(refusal?.reason, 'no_user')
    assert.match(refusal?.message ?? '', /of a client, and a signed-in user is required/)
  }
})

test('the challenge names the error, the classes and the age (RFC 9470 §3)', async () => {
  const challengeOf = async (options: AuthenticateOptions) => {
    const error = await refusalOf({ acr: singleFactor }, options)
    assert.equal(error?.status, 401)
    return error && wwwAuthenticate(error, { realm: 'api' })
  }
  const start = 'Bearer realm="api", error="insufficient_user_authentication", error_description='
  const again = `"The user must sign in again: the last sign-in was too long ago, or its time is unknown"`
  const stronger = '"The user must sign in with a stronger method"'
  assert.equal(await challengeOf({ maxAge: 300 }), `${start}${again}, max_age="300"`)
  assert.equal(await challengeOf({ requireAcr: [mfa, 'phr'] }), `${start}${stronger}, acr_values="${mfa} phr"`)
  assert.equal(
    await challengeOf({ requireAcr: 'phr', maxAge: 60 }),
    `${start}${stronger}, acr_values="phr", max_age="60"`,
  )
  assert.equal(
    await challengeOf({ requireAcr: singleFactor, maxAge: 60 }),
    `${start}${again}, acr_values="${singleFactor}", max_age="60"`,
  )
})

test('a missing scope is reported first: no sign-in would help', async () => {
  assert.equal((await refusalOf({}, { scope: 'read:other', requireAcr: mfa }))?.code, 'insufficient_scope')
})

test('introspected tokens are held to the same, at every use of a cached response', async () => {
  let requests = 0
  const active = (now: number) => ({ ...goodClaims(now), active: true, token_type: 'Bearer', acr: mfa })
  const introspection = createIntrospection({
    async introspect() {
      requests++
      return { ...active(clock.now()), auth_time: clock.now() / 1000 }
    },
    cacheForSeconds: 60,
  })
  const { bearer, clock } = await setup({ issuer, audience, introspection, clockSkewSeconds: 0 })
  const use = (options: AuthenticateOptions) => bearer.authenticate('Bearer opaque', options)
  assert.equal((await use({ requireAcr: mfa, maxAge: 1 })).acr, mfa)
  await assert.rejects(async () => use({ requireAcr: 'phr' }), { reason: 'acr' })
  clock.advance(1_001)
  await assert.rejects(async () => use({ maxAge: 1 }), { reason: 'auth_time' })
  assert.equal(requests, 1)
})

test('requireSignIn compares a caller that was authenticated before', async () => {
  const { bearer, token, clock } = await setup({ clockSkewSeconds: 0 })
  const caller = await bearer.authenticate(`Bearer ${await token({ acr: mfa, auth_time: clock.now() / 1000 })}`)
  bearer.requireSignIn(caller, { requireAcr: mfa, maxAge: 60 })
  clock.advance(60_001)
  assert.throws(() => bearer.requireSignIn(caller, { maxAge: 60 }), { reason: 'auth_time' })
})

test('an invalid requirement or order is a TypeError that names what was expected', async () => {
  const { bearer, token } = await setup()
  const header = `Bearer ${await token({ acr: mfa })}`
  for (const requireAcr of ['', 'two words', 'a"b', [], [mfa, '']])
    await assert.rejects(async () => bearer.authenticate(header, { requireAcr }), {
      name: 'TypeError',
      message: /^requireAcr must be one or more acr values/,
    })
  for (const maxAge of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
    await assert.rejects(async () => bearer.authenticate(header, { maxAge }), {
      name: 'TypeError',
      message: /^maxAge must be a whole number/,
    })
  for (const acrOrder of [['a', 'a'], ['a b'], ['']])
    await assert.rejects(setup({ acrOrder }), { name: 'TypeError', message: /^acrOrder must be a list of distinct/ })
})
