import { basePath } from '../cookies.ts'

const maxLength = 2_000

/**
 * The path inside the console to go to after a sign-in; the start page for anything else. What a browser would read as
 * another site is refused: `//host`, a backslash, a scheme, and dots that lead out.
 */
export function returnPath(requested: string | undefined, publicUrl: string): string {
  const start = `${basePath}/`
  if (requested === undefined || requested.length > maxLength || !requested.startsWith(start)) return start
  const url = URL.parse(requested, publicUrl)
  const inside = url !== null && url.origin === new URL(publicUrl).origin && url.pathname.startsWith(start)
  return inside && !url.pathname.startsWith(`${basePath}/api`) ? `${url.pathname}${url.search}` : start
}
