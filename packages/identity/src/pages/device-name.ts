const browsers: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\/|CriOS\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]

const systems: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

const maxLength = 60

/** A short name for a User-Agent; one that is not a browser's is shown as it is, shortened. */
export function deviceName(userAgent: string): string {
  return knownDeviceName(userAgent) ?? (userAgent.slice(0, maxLength) || '?')
}

/** The name of the browser and its system; undefined for others. For mails, which contain no words of the request. */
export function knownDeviceName(userAgent: string): string | undefined {
  const find = (list: typeof browsers) => list.find(([pattern]) => pattern.test(userAgent))?.[1]
  const names = [find(browsers), find(systems)].filter((name) => name !== undefined)
  return names.length > 0 ? names.join(' · ') : undefined
}
