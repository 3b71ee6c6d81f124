import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOfHtml } from '../../src/templates/message-text.ts'
import { endWhereItHangs } from '../support/hang-bound.ts'

/** Four times as long as a rendered text may be. */
const length = 4 * 262_144
const filled = (unit: string) => unit.repeat(length / unit.length)

const texts: ReadonlyArray<readonly [what: string, html: string, text: string]> = [
  ['brackets', filled('<'), filled('<')],
  ['openers of a head', filled('<head '), filled('<head ').trim()],
  ['titles without an end', filled('<title>'), ''],
  ['styles with the end of a title', filled('<style></title>'), ''],
  ['openers of a link', filled('<a '), filled('<a ').trim()],
  ['openers of a link in one tag', `${filled('<a ')}>x</a>`, 'x'],
  ['links without an end', filled('<a href=x>'), ''],
  ['a link whose address does not end', `<a href=${filled('x')}`, `<a href=${filled('x')}`],
  ['line breaks that are not closed', filled('<br '), filled('<br ').trim()],
  ['list items that are not closed', filled('<li '), filled('<li ').trim()],
  ['brackets before a line break', `${filled('< ')}<br>x`, `${filled('< ').trim()}\nx`],
]
for (const [what, html, text] of texts)
  test(`a text of ${what} ends, however long it is`, () => {
    assert.ok(endWhereItHangs(() => textOfHtml(html)) === text)
  })

test('the text of a mail has no head, style or script, and what is not closed stays', () => {
  assert.equal(
    textOfHtml('<HEAD><title>T</title></HEAD ><p>a<style>b</style>c</p><script>d</SCRIPT\n><title>e<b>f</b>'),
    'ac\nef',
  )
  assert.equal(textOfHtml('a <style>b</title> c'), 'a b c')
  assert.equal(textOfHtml('1 < 2<br>3 <p'), '1 < 2\n3 <p')
})

test('the text of a mail shows where its links lead', () => {
  assert.equal(
    textOfHtml('<A class=b HREF = \'https://a.example\'>a</A > <a name="n">b</a> <a href="">c</a> <a href=/d>d'),
    'a (https://a.example) b c d',
  )
  assert.equal(
    textOfHtml('<a href="/1">one <a href="/2">two</a> <a href="/3"><b>three</b></a>'),
    'one two (/1) three (/3)',
  )
})
