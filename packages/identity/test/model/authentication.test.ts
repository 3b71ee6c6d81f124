import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acrOf, multiFactorAcr, singleFactorAcr } from '../../src/model/authentication.ts'

test('the class follows from the methods: one factor, two, and keys that verify their user', () => {
  for (const [amr, acr] of [
    [['pwd'], singleFactorAcr],
    [['fed'], singleFactorAcr],
    [[], singleFactorAcr],
    [['hwk', 'user'], singleFactorAcr],
    [['pwd', 'otp', 'mfa'], multiFactorAcr],
    [['pwd', 'swk', 'mfa'], multiFactorAcr],
    [['swk', 'user', 'mfa'], 'phr'],
    [['hwk', 'user', 'mfa'], 'phrh'],
  ] as const)
    assert.equal(acrOf(amr), acr, amr.join(' '))
})
