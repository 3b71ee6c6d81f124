import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '@gatehouse/kit'
import { createLinks, type Links } from '../../src/links/links.ts'
import { beforeEnd, withClicks } from '../../src/links/mail-html.ts'
import { endWhereItHangs } from '../support/hang-bound.ts'

const signed = createLinks({ baseUrl: 'https://n.example', secret: new Secret('a secret of thirty-two characters') })
/** Those of click links say where they lead. */
const links: Links = { ...signed, url: (_purpose, [, target = '']) => `https://n.example/t/c/${new URL(target).host}` }
const clicked = (html: string) => withClicks(html, 'd', links, (host) => ['a', 'b'].includes(host))

test('click links stand in place of the links of a mail, and of nothing else in it', () => {
  const cases = [
    ['<a href="https://a">x</a>', '<a href="https://n.example/t/c/a">x</a>'],
    ["<A class=b\nhref=' http://a/?b=1&amp;c=2 '>", '<A class=b\nhref="https://n.example/t/c/a">'],
    ['<a href=https://a>x</a>', '<a href="https://n.example/t/c/a">x</a>'],
    ['<a title="1>0 <b>" href="https://a">', '<a title="1>0 <b>" href="https://n.example/t/c/a">'],
    ['<!--[if mso]><a href="https://a"><![endif]-->', '<!--[if mso]><a href="https://n.example/t/c/a"><![endif]-->'],
    [
      '<a title=" href=\'https://a\'" href="https://b">',
      '<a title=" href=\'https://a\'" href="https://n.example/t/c/b">',
    ],
  ] as const
  for (const [html, expected] of cases) assert.equal(clicked(html), expected)
  const kept = [
    '<a href="mailto:a@b.c"></a><a href="https://n.example/t/o/1"></a><a href="#b"></a><a href="https://"></a>',
    '<link href="https://a"><abbr href="https://a"><a data-href="https://a">',
    '<p title="<a href=\'https://a\'>">a href="https://a"</p>',
  ]
  for (const html of kept) assert.equal(clicked(html), html)
})

test('what is added to a mail stands before the last end of its body', () => {
  assert.equal(beforeEnd('<p>a</p></BODY\n></html>', '+'), '<p>a</p>+</BODY\n></html>')
  assert.equal(beforeEnd('a</body>b</body>c</body', '+'), 'a</body>b+</body>c</body')
  assert.equal(beforeEnd('a', '+'), 'a+')
})

/** Four times as long as a rendered text may be. */
const length = 4 * 262_144
const filled = (unit: string) => unit.repeat(length / unit.length)

for (const unit of ['<a ', '<a href ', '<', '<a href=', 'a href="', '<!--', '<a href="https://n.example/'])
  test(`links are found in a text of ${unit}, however long it is`, () => {
    const html = filled(unit)
    assert.ok(endWhereItHangs(() => clicked(html)) === html)
  })

for (const unit of ['</body>', '</body', '</body '])
  test(`the end of a body is found in a text of ${unit}, however long it is`, () => {
    const html = filled(unit)
    const end = unit === '</body>' ? html.length - unit.length : html.length
    assert.ok(endWhereItHangs(() => beforeEnd(html, '+')) === `${html.slice(0, end)}+${html.slice(end)}`)
  })
