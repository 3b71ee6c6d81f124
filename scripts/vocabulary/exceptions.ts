/** Names of others that hold a word of the list, and files that are not checked. Every entry has its reason. */

export interface Exception {
  /** The whole identifier, SQL name, or text match that is allowed. */
  readonly name: string
  /** Allowed in paths that begin so; everywhere without it. */
  readonly below?: string
  readonly reason: string
}

export const exceptions: readonly Exception[] = [
  { name: 'given_name', reason: 'claim of OpenID Connect Core 1.0, section 5.1' },
  { name: 'tries', below: 'packages/identity/src/http/txt-resolver.ts', reason: 'option of node:dns' },
  { name: 'visit', below: 'apps/gatehouse/src/config/', reason: 'function of the package yaml' },
]

/** Files whose words are not ours to choose. */
export const uncheckedFiles: readonly { readonly path: RegExp; readonly reason: string }[] = [
  { path: /(^|\/)package-lock\.json$/, reason: 'names of packages' },
  { path: /(^|\/)LICENSE(-[\w-]+)?(\.txt)?$/, reason: 'text of the licence' },
  { path: /(^|\/)CHANGELOG\.md$/, reason: 'names of former versions' },
  { path: /\/common-passwords\//, reason: 'passwords of people' },
  { path: /^scripts\/(test\/)?vocabulary(\/|\.test\.ts$)/, reason: 'the word list and its tests' },
]
