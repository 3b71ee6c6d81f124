import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smsFailureCode } from '../../src/browser/parts/values/sms-failure-code.ts'
import { de } from '../../src/browser/texts/de.ts'
import { en } from '../../src/browser/texts/en.ts'

test('the code of a failed SMS is found in what Twilio answers and reports, and in nothing else', () => {
  assert.equal(smsFailureCode('answered 400: {"code": 21610, "message": "unsubscribed"}'), '21610')
  assert.equal(smsFailureCode('answered 400: {"code":21211}'), '21211')
  assert.equal(smsFailureCode('undelivered, error 30006'), '30006')
  for (const other of ['answered 503', 'the order 30006 is late', '{"code": 123456}', 'error 42'])
    assert.equal(smsFailureCode(other), undefined, other)
})

test('codes that end an address are explained in both languages', () => {
  for (const { codes } of [en, de])
    for (const code of ['21211', '21610', '21614', '30004', '30005', '30006'])
      assert.ok(Object.hasOwn(codes.smsFailures, code), code)
})
