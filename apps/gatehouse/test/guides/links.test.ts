import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/program.ts'
import { pages, readPage } from './pages.ts'

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(text: string): Set<string> {
  const { prose } = readPage('', text)
  const headings = [...prose.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(headings)
}

test('every link of the documentation leads to a file of the repository, and to a heading in it', () => {
  const links = pages.flatMap(({ path, prose }) =>
    [...prose.replaceAll('\n', ' ').matchAll(/\]\((?!\w+:)([^)\s]*)\)|src="(?!\w+:)([^"]+)"/g)].map(
      ([, link, source]) => ({
        path,
        link: link ?? source ?? '',
      }),
    ),
  )
  assert.ok(links.length > 200)
  const broken = links.filter(({ path, link }) => {
    const [file = '', anchor] = link.split('#')
    const target = file === '' ? join(root, path) : join(root, dirname(path), file)
    if (relative(root, target).startsWith('..') || !existsSync(target)) return true
    return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).has(anchor)
  })
  assert.deepEqual(broken, [])
})
