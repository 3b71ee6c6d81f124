import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalLocale, isZone } from '../../src/text/place.ts'

test('a language tag has one form, and what is none has no form', () => {
  for (const [tag, form] of [
    ['en_us', 'en-US'],
    ['ZH-hant', 'zh-Hant'],
    ['iw', 'he'],
    ['en-US.UTF-8', undefined],
    ['*', undefined],
    ['', undefined],
  ] as const)
    assert.equal(canonicalLocale(tag), form, tag)
})

test('a time zone is one by name, and no offset, point in time or name of a system', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'america/new_york']) assert.ok(isZone(zone), zone)
  for (const zone of ['+02:00', '-0530', '2026-01-01T00:00+09:00', 'Pacific Time', 'Mars/Base', ''])
    assert.ok(!isZone(zone), zone)
})
