/** The longest language tag or time zone that is stored of a person, in characters. */
export const maxPlaceLength = 100

/** The canonical form of a language tag (`en_us` is `en-US`), undefined when it is none. */
export function canonicalLocale(tag: string): string | undefined {
  if (!canonical.has(tag)) {
    if (canonical.size >= maxCached) canonical.clear()
    canonical.set(tag, canonicalOf(tag))
  }
  return canonical.get(tag)
}

const canonical = new Map<string, string | undefined>()
const maxCached = 1_000

function canonicalOf(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag.replaceAll('_', '-'))[0]
  } catch {
    return undefined
  }
}

/** Zones that were found to be ones: looking one up costs more than all the rest. */
const knownZones = new Set<string>()
/** More than there are, unless somebody spells them in every way. */
const maxKnownZones = 2_000

/** Whether `zone` is an IANA time zone that this machine knows. */
export function isZone(zone: string): boolean {
  if (knownZones.has(zone)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    if (/^[+-]/.test(zone)) return false
    if (knownZones.size < maxKnownZones) knownZones.add(zone)
    return true
  } catch {
    return false
  }
}
