// Grids past 65,535 workgroups spread over two dimensions; these number workgroups and invocations in one.
fn workgroup_number(id: vec3<u32>, count: vec3<u32>) -> u32 { return id.y * count.x + id.x; }
