/** Major, minor and patch. */
export type ServerVersion = readonly [major: number, minor: number, patch: number]

/** Whether a server that says that it is of `version` is older than `other`. One that says nothing readable is. */
export function isOlder(version: string | undefined, other: ServerVersion): boolean {
  const numbers = /^(\d+)\.(\d+)\.(\d+)/
    .exec(version ?? '')
    ?.slice(1)
    .map(Number) ?? [0]
  const place = other.findIndex((number, at) => numbers[at] !== number)
  return place >= 0 && (numbers[place] ?? 0) < (other[place] ?? 0)
}
