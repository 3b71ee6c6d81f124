import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Acr, multiFactorAcr, singleFactorAcr } from '../../src/model/authentication.ts'
import { createRecoveryCodes, readRecoveryCode } from '../../src/model/factors/recovery-codes.ts'
import {
  chooseFactorStep,
  chooseLevelStep,
  mayManageFactors,
  mfaPolicies,
  strictestPolicy,
} from '../../src/model/factors/second-factor.ts'

const mfa = ['pwd', 'otp', 'mfa']
const passkey = ['swk', 'user', 'mfa']

test('the strictest of several policies counts', () => {
  for (const one of mfaPolicies)
    for (const other of [...mfaPolicies, undefined]) {
      const expected = mfaPolicies[Math.max(mfaPolicies.indexOf(one), other ? mfaPolicies.indexOf(other) : 0)]
      assert.equal(strictestPolicy([one, other]), expected)
      assert.equal(strictestPolicy([other, one]), expected)
    }
  assert.equal(strictestPolicy([]), 'off')
})

test('a user with a factor is asked for it whatever the policy, unless the device is remembered', () => {
  for (const policy of mfaPolicies) {
    const situation = { amr: ['pwd'], remembered: false, factors: ['totp'], policy } as const
    assert.equal(chooseFactorStep(situation), 'factor')
    assert.equal(chooseFactorStep({ ...situation, remembered: true }), undefined)
    assert.equal(chooseFactorStep({ ...situation, amr: mfa }), undefined)
  }
})

test('a user without a factor enrols one where it is required, or after a reset', () => {
  const situation = { amr: ['pwd'], remembered: false, factors: [] } as const
  assert.equal(chooseFactorStep({ ...situation, policy: 'required' }), 'enrol')
  assert.equal(chooseFactorStep({ ...situation, policy: 'required', remembered: true }), 'enrol')
  assert.equal(chooseFactorStep({ ...situation, policy: 'optional' }), undefined)
  assert.equal(chooseFactorStep({ ...situation, policy: 'off', mustEnrol: true }), 'enrol')
})

test('a passkey is asked for after a password only where two factors are required', () => {
  const situation = { amr: ['pwd'], remembered: false, factors: ['passkey'] } as const
  assert.equal(chooseFactorStep({ ...situation, policy: 'optional' }), undefined)
  assert.equal(chooseFactorStep({ ...situation, policy: 'required' }), 'factor')
  assert.equal(chooseFactorStep({ ...situation, policy: 'required', amr: passkey }), undefined)
  assert.equal(chooseFactorStep({ ...situation, policy: 'optional', mustEnrol: true }), 'enrol')
  assert.equal(chooseFactorStep({ ...situation, policy: 'optional', factors: ['passkey', 'totp'] }), 'factor')
})

test('who has a factor uses one to manage factors, or a recovery code', () => {
  assert.ok(mayManageFactors(['pwd'], []))
  assert.ok(!mayManageFactors(['pwd'], ['totp']))
  assert.ok(mayManageFactors(mfa, ['totp']))
  assert.ok(!mayManageFactors(['pwd'], ['passkey']))
  assert.ok(!mayManageFactors(['pwd'], ['totp', 'passkey']))
  assert.ok(mayManageFactors(mfa, ['totp', 'passkey']))
  assert.ok(mayManageFactors(passkey, ['totp', 'passkey']))
  assert.ok(mayManageFactors(['pwd', 'recovery', 'mfa'], ['totp', 'passkey']))
})

test('a requested level leads to the step that reaches it', () => {
  const want = (essential: boolean, ...values: Acr[]) => ({ essential, values })
  for (const [amr, factors, wanted, policy, step] of [
    [['pwd'], [], want(false, multiFactorAcr), 'optional', undefined],
    [['pwd'], [], want(true, multiFactorAcr), 'optional', 'enrol'],
    [['pwd'], [], want(true, multiFactorAcr), 'off', 'unmet'],
    [['pwd'], [], want(true, multiFactorAcr, singleFactorAcr), 'off', undefined],
    [['pwd'], ['totp'], want(false, multiFactorAcr), 'off', 'factor'],
    [['pwd'], ['totp'], want(false, 'phr', multiFactorAcr), 'optional', 'factor'],
    [['pwd'], ['totp'], want(false, 'phr', singleFactorAcr, multiFactorAcr), 'optional', undefined],
    [mfa, ['totp'], want(true, singleFactorAcr), 'optional', undefined],
    [mfa, ['totp'], want(true, 'phr'), 'optional', 'unmet'],
    [mfa, ['totp'], want(false, 'phr'), 'optional', undefined],
    [mfa, ['totp', 'passkey'], want(true, 'phr'), 'optional', 'login'],
    [mfa, ['totp', 'passkey'], want(false, 'phr'), 'optional', 'login'],
    [passkey, ['passkey'], want(true, 'phr'), 'optional', undefined],
    [passkey, ['passkey'], want(true, multiFactorAcr), 'optional', undefined],
    [passkey, ['passkey'], want(true, 'phrh'), 'optional', 'login'],
  ] as const) {
    const situation = { amr, remembered: true, factors, wanted, policy, signedInForIt: false }
    const described = `${amr} ${factors} ${wanted.values} ${wanted.essential} ${policy}`
    assert.equal(chooseLevelStep(situation), step, described)
  }
})

test('a sign-in for the request that is still too weak ends it instead of asking again', () => {
  const situation = {
    amr: mfa,
    remembered: false,
    factors: ['passkey'],
    policy: 'optional',
    signedInForIt: true,
  } as const
  assert.equal(chooseLevelStep({ ...situation, wanted: { essential: true, values: ['phr'] } }), 'unmet')
  assert.equal(chooseLevelStep({ ...situation, wanted: { essential: false, values: ['phr'] } }), undefined)
})

test('recovery codes are ten of eighty bits, and are read without case, spaces and hyphens', () => {
  const codes = createRecoveryCodes()
  assert.equal(new Set(codes).size, 10)
  for (const code of codes) {
    assert.match(code, /^([a-z2-7]{4}-){3}[a-z2-7]{4}$/)
    const plain = code.replaceAll('-', '')
    assert.equal(readRecoveryCode(code), plain)
    assert.equal(readRecoveryCode(` ${code.toUpperCase().replaceAll('-', ' ')} `), plain)
  }
  for (const typed of [undefined, '', 'abcd-efgh-ijkl', 'abcd-efgh-ijkl-mno1', `${codes[0]}a`])
    assert.equal(readRecoveryCode(typed), undefined)
})
