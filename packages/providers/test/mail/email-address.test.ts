import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as kit from '@gatehouse/kit'
import fc from 'fast-check'
import { isEmailAddress } from '../../src/mail/email-address.ts'

test('the package accepts exactly the email addresses that the APIs of Gatehouse accept', () => {
  const part = fc.stringMatching(/^["a-zA-Z0-9äß.@ ,;:<>()[\]\\\r\n\u0000_+-]{0,70}$/)
  const address = fc.oneof(
    fc.emailAddress(),
    part,
    fc.tuple(part, part).map(([local, domain]) => `${local}@${domain}`),
  )
  fc.assert(fc.property(address, (text) => assert.equal(isEmailAddress(text), kit.isEmailAddress(text))))
})
