import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Data } from '../../src/model/notification/notification.ts'
import { compileTemplate } from '../../src/templates/template.ts'
import { endWhereItHangs } from '../support/hang-bound.ts'

function render(html: string, data: Data = {}): string | undefined {
  const compiled = compileTemplate({ templateId: 't', channel: 'email', locale: 'en', version: 1, body: '', html })
  return compiled.render(data).content.html
}

test('an address in words or in the query of a link stays as it is written', () => {
  const texts = [
    '<p>Pay at <a href="https://shop.example/pay?src=mail">https://shop.example/pay?src=mail</a>.</p><p>Second</p>',
    "<a href='https://shop.example/?href=a&amp;action=b'>x</a>",
    '<table><tr><td>action = refund</td><td>42</td></tr></table>',
    '<td title="set src=/dev/sda, href=x">a</td>',
    '<img data-src="x" alt="1 > 0, action=b" src="https://shop.example/a.png">',
    '<style>a[href="x"] { color: red }</style><p>b</p>',
    '<p>1 <2, src=x</p>',
    '<!-- src=a --><p>b</p>',
  ]
  for (const html of texts) assert.equal(render(html), html)
  const url = 'https://shop.example/confirm?order=7&action=confirm'
  assert.equal(
    render('<p>{{ url }}</p><p>Second</p>', { url }),
    '<p>https://shop.example/confirm?order=7&amp;action=confirm</p><p>Second</p>',
  )
})

test('what a value says takes nothing of what follows it, in an attribute or in words', () => {
  const avatar = ' onmouseover=alert(1) style=position:fixed '
  assert.equal(
    render('<td title="{{ name }}"><img src="{{ avatar }}" alt=""></td>', { name: 'href=', avatar }),
    '<td title="href="><img src="#" alt=""></td>',
  )
  assert.equal(
    render('<p>{{ comment }}</p>\n<a href="https://shop.example/unsubscribe">Unsubscribe</a>', {
      comment: 'nice href=',
    }),
    '<p>nice href=</p>\n<a href="https://shop.example/unsubscribe">Unsubscribe</a>',
  )
})

const hostile = 'javascript:alert(1)'
const emptied: ReadonlyArray<readonly [html: string, expected: string]> = [
  ['<a href="{{ url }}">x</a>', '<a href="#">x</a>'],
  ["<a HREF = '{{ url }}' class=b>x</a>", '<a HREF="#" class=b>x</a>'],
  ['<a\thref={{ url }}>x</a>', '<a\thref="#">x</a>'],
  ['<A/href\n=\n{{ url }}/>', '<A/href="#">'],
  ['<img src="{{ url }}"src="{{ url }}">', '<img src="#"src="#">'],
  ['<form action="{{ url }}"><button formaction="{{ url }}">', '<form action="#"><button formaction="#">'],
  ['<svg><a xlink:href="{{ url }}">x</a></svg>', '<svg><a xlink:href="#">x</a></svg>'],
  ['<a href="&#106;avascript:x" href="&Tab;java&NewLine;script:x">', '<a href="#" href="#">'],
  ['<a href="&Tab;https://a.example" src=" /b" href="#c">', '<a href="&Tab;https://a.example" src=" /b" href="#c">'],
  ['<a title="a"" href="{{ url }}">x</a>', '<a title="a"" href="#">x</a>'],
  ["<a title=it's href=\"{{ url }}\" alt='>'>x</a>", "<a title=it's href=\"#\" alt='>'>x</a>"],
  ['<a b=c"d href="{{ url }}">x</a>', '<a b=c"d href="#">x</a>'],
  ['<a =" href="{{ url }}">x</a>', '<a =" href="#">x</a>'],
  ['1 <2 "3" <a href="{{ url }}">x</a>', '1 <2 "3" <a href="#">x</a>'],
  ['<b title="1>0"><a href="{{ url }}">x</a>', '<b title="1>0"><a href="#">x</a>'],
  ['<!-- <b title=" --><a href="{{ url }}">x</a>', '<!-- <b title=" --><a href="#">x</a>'],
  ['<!--><a href="{{ url }}"><!--->x', '<!--><a href="#"><!--->x'],
  ['<!--[if mso]><a href="{{ url }}">x</a><![endif]-->', '<!--[if mso]><a href="#">x</a><![endif]-->'],
  ['<![if !mso "><a href="{{ url }}">x</a><![endif]>', '<![if !mso "><a href="#">x</a><![endif]>'],
  ['<style>/* <b title=" */</style><a href="{{ url }}">x</a>', '<style>/* <b title=" */</style><a href="#">x</a>'],
  ['<TITLE><!-- <i b="</title ><a href="{{ url }}">x</a>', '<TITLE><!-- <i b="</title ><a href="#">x</a>'],
  ['<title><a href="{{ url }}"></title>', '<title><a href="#"></title>'],
  ['<a title="b" href="{{ url }}"', '<a title="b" href="#"'],
  ['<a href="{{ url }}', '<a href="#"'],
  ['<a href= >x</a><a href="" src>', '<a href= >x</a><a href="#" src>'],
]
for (const [html, expected] of emptied)
  test(`links are emptied where a browser finds them: ${html.replaceAll('\n', ' ').slice(0, 45)}`, () => {
    assert.equal(render(html, { url: hostile }), expected)
  })

test('hostile texts as long as a mail may be are looked through', () => {
  const filled = (unit: string) => `{% for i in (1..4) %}${unit.repeat(65_000 / unit.length)}{% endfor %}`
  const length = 4 * 65_000
  const cases: ReadonlyArray<readonly [unit: string, expected: string]> = [
    ['<', '<'.repeat(length)],
    ['<a ', '<a '.repeat(4 * Math.floor(65_000 / 3))],
    ['<!--', '<!--'.repeat(length / 4)],
    ['<style>', '<style>'.repeat(4 * Math.floor(65_000 / 7))],
    ['<a href', '<a href'.repeat(4 * Math.floor(65_000 / 7))],
    ['<a href="', '<a href="#"'.repeat(2 * Math.floor(65_000 / 9))],
  ]
  for (const [unit, expected] of cases) assert.ok(endWhereItHangs(() => render(filled(unit))) === expected, unit)
})
