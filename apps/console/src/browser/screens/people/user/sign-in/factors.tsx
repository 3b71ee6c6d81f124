import { Group, Stack } from '@mantine/core'
import { useRead } from '../../../../api/queries.ts'
import { Act } from '../../../../parts/changes/act.tsx'
import { Answer } from '../../../../parts/states.tsx'
import { Facts, Time } from '../../../../parts/values/values.tsx'
import { useTexts } from '../../../../texts/settings.tsx'

/** The second factors of a user, and how to remove them for whoever lost theirs. */
export function UserFactors({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('readFactors', { id })
  return (
    <Answer action="readFactors" query={query}>
      {({ factors, recovery_codes, remembered_devices }) => (
        <Stack className="panel">
          <Facts
            facts={[
              ...(factors.length === 0
                ? [[t.user.factors, t.user.noFactors] as const]
                : factors.map(({ kind, created_at }) => [kind, <Time key={kind} at={created_at} />] as const)),
              [t.user.recoveryCodes, recovery_codes],
              [t.user.rememberedDevices, remembered_devices],
            ]}
          />
          {factors.length > 0 && (
            <Group>
              <Act
                action="resetFactors"
                input={{ id }}
                label={t.user.resetFactors}
                text={t.user.resetFactorsText}
                word={id}
                done={t.user.factorsReset}
              />
            </Group>
          )}
        </Stack>
      )}
    </Answer>
  )
}
