import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLogoType } from '../../../src/clients/logo/image.ts'
import { jpegOf, pngOf, webpOf } from '../../support/images.ts'

test('PNG, JPEG and WebP are known by their bytes', () => {
  assert.equal(readLogoType(pngOf(64, 32)), 'image/png')
  assert.equal(readLogoType(jpegOf(64, 32)), 'image/jpeg')
  for (const kind of ['VP8 ', 'VP8L', 'VP8X'] as const) assert.equal(readLogoType(webpOf(kind, 64, 32)), 'image/webp')
})

test('an image may have 2048 pixels each way and no more, nor none', () => {
  const makers = [pngOf, jpegOf, ...(['VP8 ', 'VP8L', 'VP8X'] as const).map((kind) => webpOf.bind(undefined, kind))]
  for (const make of makers) {
    assert.ok(readLogoType(make(2048, 2048)))
    assert.equal(readLogoType(make(2049, 1)), undefined)
    assert.equal(readLogoType(make(1, 2049)), undefined)
  }
  for (const make of [pngOf, jpegOf]) assert.equal(readLogoType(make(0, 5)), undefined)
  assert.equal(readLogoType(pngOf(0xffffffff, 0xffffffff)), undefined)
})

test('anything else is no logo, whatever it claims to be', () => {
  for (const content of [
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    '<?xml version="1.0"?><svg onload="alert(1)"/>',
    '<!doctype html><script>alert(1)</script>',
    'GIF89a\x01\x00\x01\x00',
    'BM',
    '\x00\x00\x01\x00',
    '%PDF-1.7',
    '\x89PNG\r\n\x1a\n',
    '\xff\xd8\xff\xe0',
    '\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff',
    `\xff\xd8${'\xff\xe0\x00\x02'.repeat(10_000)}`,
    `\xff\xd8${'\xff\xe0\x00\x00'.repeat(10_000)}`,
    `RIFF\x00\x00\x00\x00WEBPVP8Z${'\x00'.repeat(20)}`,
  ])
    assert.equal(readLogoType(Buffer.from(content, 'latin1')), undefined, content.slice(0, 20))
})

test('no prefix of an image and no changed byte makes the reader fail', () => {
  for (const image of [pngOf(8, 8), jpegOf(8, 8), webpOf('VP8X', 8, 8), webpOf('VP8 ', 8, 8), webpOf('VP8L', 8, 8)])
    for (let at = 0; at < image.length; at++) {
      readLogoType(image.subarray(0, at))
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(image)
        changed[at] = value
        readLogoType(changed)
      }
    }
})
