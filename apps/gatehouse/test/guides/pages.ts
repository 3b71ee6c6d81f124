import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/program.ts'

/** A fenced block of a page. */
export interface Block {
  /** The path of the page, from the root of the repository. */
  readonly page: string
  /** The line of the fence, counted from 1. */
  readonly line: number
  /** What the fence names; empty where it names nothing. */
  readonly language: string
  /** Without the indent of the list that it is in. */
  readonly text: string
}

/** A page for readers of the documentation. */
export interface Page {
  readonly path: string
  readonly text: string
  /** The text outside of fenced blocks, with a blank in the place of each line of a block. */
  readonly prose: string
  readonly blocks: readonly Block[]
}

/** Every page that a user reads: of the repository, of its documentation and of its packages. */
export const pages: readonly Page[] = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md', 'fakes/README.md'], {
  cwd: root,
  exclude: ['docs/api/**'],
})
  .sort()
  .map((path) => readPage(path, readFileSync(join(root, path), 'utf8')))

/** The page of this path. @throws Error where there is none */
export function pageAt(path: string): Page {
  const page = pages.find((each) => each.path === path)
  if (!page) throw new Error(`there is no page ${path}`)
  return page
}

/** Splits a page into its prose and its blocks. */
export function readPage(path: string, text: string): Page {
  const blocks: Block[] = []
  const prose: string[] = []
  let open: { line: number; indent: number; language: string; lines: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^( *)```(\S*)/.exec(line)
    prose.push(open || fence ? '' : line)
    if (!open && fence) open = { line: index + 1, indent: fence[1]?.length ?? 0, language: fence[2] ?? '', lines: [] }
    else if (open && fence) {
      blocks.push({ page: path, line: open.line, language: open.language, text: open.lines.join('\n') })
      open = undefined
    } else open?.lines.push(line.slice(open.indent))
  }
  if (open) throw new Error(`${path}:${open.line}: the block has no end`)
  return { path, text, prose: prose.join('\n'), blocks }
}

/** Every block in one of these languages. */
export function blocksIn(...languages: readonly string[]): Block[] {
  return pages.flatMap(({ blocks }) => blocks.filter(({ language }) => languages.includes(language)))
}

/** Where a block stands, as editors open it. */
export const placeOf = ({ page, line }: Block): string => `${page}:${line}`
