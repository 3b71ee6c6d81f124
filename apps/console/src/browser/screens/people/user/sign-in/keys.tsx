import { Stack } from '@mantine/core'
import { useState } from 'react'
import { Empty } from '../../../../parts/states.tsx'
import { useTexts } from '../../../../texts/settings.tsx'
import { FreshKey } from '../../../access/keys/api-keys.tsx'
import { KeyList } from '../../../access/keys/key-list.tsx'

/** The API keys that a user owns. */
export function UserKeys({ id }: { id: string }) {
  const t = useTexts()
  const [key, setKey] = useState<string>()
  return (
    <Stack>
      {key !== undefined && <FreshKey key={key} secret={key} />}
      <KeyList filters={{ owner: id }} empty={<Empty text={t.user.noKeys} />} onKey={setKey} />
    </Stack>
  )
}
