import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBearer } from '../../src/index.ts'
import { audience, issuer, setup } from '../support/issuer.ts'

const wrongType = { code: 'invalid_token', reason: 'type' }

test('typ JWT is refused unless it is configured', async () => {
  const { bearer, token } = await setup()
  const header = `Bearer ${await token({}, { typ: 'JWT' })}`
  await assert.rejects(async () => bearer.authenticate(header), wrongType)
})

test('typ JWT is accepted where configured, in any case and as a media type', async () => {
  const { bearer, token } = await setup({ tokenTypes: ['at+jwt', 'JWT'] })
  for (const typ of ['JWT', 'jwt', 'application/jwt', 'at+jwt', 'application/at+jwt']) {
    assert.equal((await bearer.authenticate(`Bearer ${await token({}, { typ })}`)).subject, 'alice', typ)
  }
})

test('other types are refused, and so is a token without a type', async () => {
  const { bearer, token } = await setup({ tokenTypes: ['JWT'] })
  for (const typ of ['at+jwt', 'logout+jwt', 'dpop+jwt', 'JWTX', '', undefined]) {
    await assert.rejects(async () => bearer.authenticate(`Bearer ${await token({}, { typ })}`), wrongType)
  }
})

test('an ID token or a logout token is refused where typ JWT is allowed', async () => {
  const { bearer, token } = await setup({ tokenTypes: ['JWT'] })
  for (const claims of [{ nonce: 'n' }, { at_hash: 'h' }, { c_hash: 'h' }, { events: {} }]) {
    const header = `Bearer ${await token(claims, { typ: 'JWT' })}`
    await assert.rejects(async () => bearer.authenticate(header), wrongType)
  }
})

test('an unknown token type in the options is rejected', () => {
  for (const tokenTypes of [[], ['none'], ['at+jwt', 'id+jwt']]) {
    assert.throws(
      () => createBearer({ issuer, audience, tokenTypes: tokenTypes as never }),
      /tokenTypes must be some of/,
    )
  }
})
