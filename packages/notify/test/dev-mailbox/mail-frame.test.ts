import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasRemoteImages } from '../../src/dev-mailbox/mail-frame.ts'
import { endWhereItHangs } from '../support/hang-bound.ts'

test('images of other places are found in a mail, those within it are none', () => {
  assert.ok(hasRemoteImages('<p><IMG alt="a" src = "https://shop.example/a.png">'))
  assert.ok(hasRemoteImages('<td style="background: url(\'//shop.example/a.png\')">'))
  assert.ok(hasRemoteImages('<td style="background: url( \' https://shop.example/a.png\')">'))
  assert.ok(!hasRemoteImages('<img src="data:image/png;base64,AA"> https://shop.example/a.png'))
})

for (const [name, html] of [
  ['of `<img `', '<img '.repeat(52_000)],
  ['of blanks within `url(`', `<p>url(${' '.repeat(262_144)}x</p>`],
  ['of blanks behind `src=`', `<img src=${' '.repeat(262_144)}x>`],
])
  test(`the images of a long text ${name} are looked for within bounds`, { timeout: 60_000 }, () => {
    assert.equal(
      endWhereItHangs(() => hasRemoteImages(html as string)),
      false,
    )
  })
