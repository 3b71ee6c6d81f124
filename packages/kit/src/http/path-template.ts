/**
 * A path template: `/orders/{id}/lines`, or `/orders/:id/lines`; a trailing `*` takes whatever follows. Templates and
 * paths are compared segment by segment, after percent-decoding: `/orders/%61dmin` fits `/orders/admin`. Case and a
 * trailing slash count.
 */
export interface PathTemplate {
  readonly text: string
  readonly segments: readonly Segment[]
  /** How the segment at the trailing `*` begins; undefined without one. */
  readonly rest: string | undefined
}

/** A segment as it stands, or the pattern of one that holds a parameter. */
export type Segment = string | RegExp

const parameter = /\{[A-Za-z_]\w*\}/
const wholeParameter = /^:[A-Za-z_]\w*$/

/** Reads a template; what it spells out may be percent-encoded. A `*` anywhere but at the end is an ordinary character. */
export function parsePathTemplate(text: string): PathTemplate {
  const parts = text.replace(/^\//, '').split('/').map(decode)
  const last = parts.at(-1) ?? ''
  const open = last.endsWith('*')
  if (open) parts.pop()
  return { text, segments: parts.map(segmentOf), rest: open ? last.slice(0, -1) : undefined }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function segmentOf(part: string): Segment {
  if (wholeParameter.test(part)) return /^.+$/s
  if (!parameter.test(part)) return part
  const pieces = part.split(new RegExp(parameter, 'g')).map((piece) => RegExp.escape(piece))
  return new RegExp(`^${pieces.join('.+')}$`, 's')
}

/**
 * The decoded segments of a path without its query; undefined when a percent sign is followed by no byte of UTF-8 text.
 */
export function pathSegments(path: string): string[] | undefined {
  const segments = path.slice(1).split('/')
  if (!path.includes('%')) return segments
  try {
    return segments.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

/** Whether a path, as its decoded segments, fits the template. */
export function fitsPath({ segments, rest }: PathTemplate, path: readonly string[]): boolean {
  if (rest === undefined ? path.length !== segments.length : path.length <= segments.length) return false
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]
    const part = path[i] ?? ''
    if (typeof segment === 'string' ? segment !== part : !segment?.test(part)) return false
  }
  return rest === undefined || (path[segments.length] ?? '').startsWith(rest)
}
