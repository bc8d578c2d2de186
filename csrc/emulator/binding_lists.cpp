// An entry of a list is an instruction, without the encoding's suffix, which a body of that name carries out, or
// "instruction=body" where the names differ. Braces stand for several entries: s_{and,or}_b{32,64} are four. Empty ones
// on the right are those on the left once more: v_cmpx_{lt,gt}_f16=v_cmp_{}_f16.
//
// A processor's instruction is listed with a body that AMD's documents of the processors (chapter "Instructions") say
// to do the same, but for what the translation takes care of: the width of masks, halves that are kept, operands. An
// equal name alone is no reason. Of VOPD the halves are listed, without "dual".
#include "emulator/binding_lists.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace wave::emulator {

namespace {

constexpr std::string_view kGfx90a = "gfx90a", kGfx942 = "gfx942", kGfx950 = "gfx950", kGfx1030 = "gfx1030",
                           kGfx1100 = "gfx1100", kGfx1150 = "gfx1150", kGfx1201 = "gfx1201";

/// Instructions that all of some processors have.
struct BindingList {
  std::initializer_list<std::string_view> processors;
  std::string_view entries;
};

constexpr BindingList kLists[] = {
    {{kGfx90a, kGfx942, kGfx950, kGfx1030, kGfx1100, kGfx1150, kGfx1201}, R"(
s_{mov,cmov,not,brev,bitset0,bitset1,wqm,quadmask,and,or,xor,nand,nor,xnor}_b{32,64}
s_{lshl,lshr,bfm,cselect,bitcmp0,bitcmp1,movrels,movreld}_b{32,64} s_bcnt{0,1}_i32_b{32,64} s_sext_i32_i{8,16}
s_bitreplicate_b64_b32 s_{abs,movk,cmovk,mulk,min,max,ashr,mul,bfe,absdiff}_i32 s_{min,max,bfe}_u32 s_{ashr,bfe}_i64
s_bfe_u64 s_mul_hi_{u,i}32 s_lshl{1,2,3,4}_add_u32 s_pack_{ll,lh,hh}_b32_b16
s_cmp_{eq,lg,gt,ge,lt,le}_{i,u}32 s_cmp_{eq,lg}_u64
s_{nop,endpgm,wakeup,waitcnt,sethalt,sleep,setprio,trap,incperflevel,decperflevel,ttracedata} s_{icache,dcache}_inv
s_branch s_cbranch_{scc0,scc1,vccz,vccnz,execz,execnz} s_{getpc,setpc,swappc,call}_b64

v_nop v_{mov,not,bfrev,swap,readfirstlane,readlane,writelane,cndmask,and,or,xor,xnor,lshlrev,lshrrev}_b32
v_{bfi,bfm,alignbit,alignbyte,perm,or3,lshl_or,and_or}_b32 v_{lshlrev,lshrrev}_b{16,64} v_ashrrev_i{16,32,64}
v_{min,max,min3,max3,med3}_{i,u}{16,32} v_bfe_{i,u}32 v_mad_{i,u}16 v_{xad,add3,lshl_add,add_lshl}_u32
v_{add,sub,subrev}_co_u32 v_mul_lo_u{16,32} v_mul_hi_{u,i}32 v_{mul,mad}_{i32_i,u32_u}24 v_mul_hi_{i32_i,u32_u}24
v_mad_{i32_i,u32_u}16 v_bcnt_u32_b32 v_mbcnt_{lo,hi}_u32_b32 v_{lerp,sad,sad_hi,msad}_u8 v_sad_u{16,32}
v_pk_{add,sub,mad,min,max}_{i,u}16 v_pk_mul_lo_u16 v_pk_{lshlrev,lshrrev}_b16 v_pk_ashrrev_i16
v_{add,mul,fma,ldexp,trunc,ceil,floor,rndne,fract,rcp,rsq,sqrt}_f{16,32,64} v_{sub,subrev,exp,log,sin,cos}_f{16,32}
v_frexp_mant_f{16,32,64} v_frexp_exp_i32_f{32,64} v_frexp_exp_i16_f16 v_fmac_f32 v_rcp_iflag_f32
v_div_{scale,fmas}_f{32,64} v_div_fixup_f{16,32,64} v_cube{id,sc,tc,ma}_f32
v_pk_{add,mul,fma,fmac}_f16 v_pack_b32_f16 v_fma_mix_f32 v_fma_mix{lo,hi}_f16 v_dot4_u32_u8 v_dot8_u32_u4
v_cvt_{i,u}32_f{32,64} v_cvt_f{32,64}_{i,u}32 v_cvt_{i,u}16_f16 v_cvt_f16_{i,u}16 v_cvt_f32_f{16,64} v_cvt_f{16,64}_f32
v_cvt_f32_ubyte{0,1,2,3} v_cvt_pk_u8_f32 v_cvt_pk_i16_i32 v_cvt_pk_u16_u32
v_cmp_{lt,eq,le,gt,lg,ge,o,u,nge,nlg,ngt,nle,neq,nlt,class}_f{16,32,64} v_cmp_{lt,eq,le,gt,ne,ge}_{i,u}{16,32,64}

ds_{add,sub,rsub,inc,dec,min,max}{,_rtn}_u{32,64} ds_{min,max}{,_rtn}_i{32,64} ds_{and,or,xor}{,_rtn}_b{32,64}
ds_add{,_rtn}_f32 ds_swizzle_b32
)"},

    {{kGfx942, kGfx950, kGfx1030, kGfx1100, kGfx1150, kGfx1201}, R"(
v_{fmamk,fmaak}_f32
)"},

    {{kGfx942, kGfx950, kGfx1100, kGfx1150, kGfx1201}, R"(
{global,flat}_atomic_add_f32
)"},

    {{kGfx90a, kGfx942, kGfx950, kGfx1030, kGfx1100, kGfx1150}, R"(
s_{add,sub,addk}_i32 s_{add,sub,addc,subb}_u32 s_cmpk_{eq,lg,gt,ge,lt,le}_{i,u}32 s_barrier
v_{min,max}_f{16,32,64} v_{min3,max3,med3}_f{16,32} v_pk_{min,max}_f16 v_mad_{i64_i,u64_u}32
v_cmp_f_f{16,32,64} v_cmp_{f,t}_{i,u}{32,64}
ds_{min,max}{,_rtn}_f{32,64} ds_gws_{init,barrier}
)"},

    {{kGfx90a, kGfx942, kGfx950, kGfx1201}, R"(
ds_{permute,bpermute}_b32
)"},

    {{kGfx90a, kGfx942, kGfx950, kGfx1030}, R"(
s_{andn2,orn2}_b{32,64} s_{ff0,ff1,flbit}_i32_b{32,64} s_flbit_i32{,_i64}
s_{andn1,orn1,andn2,orn2}_saveexec_b64 s_{andn1,andn2}_wrexec_b64
s_cbranch_{cdbgsys,cdbguser,cdbgsys_or_user,cdbgsys_and_user} s_endpgm_{saved,ordered_ps_done}
s_{sendmsg,sendmsghalt,setkill} s_{,buffer_}load_dword{,x2,x4,x8,x16} s_atc_probe{,_buffer} s_mem{,real}time

v_clrexcp v_ffb{l_b,h_u,h_i}32 v_dot2_{i32_i16,u32_u16} v_dot4{,c}_i32_i8 v_dot8_i32_i4
v_mul_legacy_f32 v_cvt_{rpi,flr}_i32_f32 v_cvt_pkrtz_f16_f32 v_cvt_pknorm_{i,u}16_f{16,32} v_cmp_tru_f{16,32,64}

ds_read_{i8,u8,i16,u16,b32,b64,b96,b128} ds_read2{,st64}_b{32,64}
ds_write_b{8,16,32,64,96,128} ds_write_b{8,16}_d16_hi ds_write2{,st64}_b{32,64} ds_{read,write}_addtid_b32
ds_cmpst{,_rtn}_b{32,64} ds_cmpst{,_rtn}_f{32,64} ds_wrxchg{,2,2st64}_rtn_b{32,64} ds_{append,consume}

{global,flat,scratch}_load_{ubyte,sbyte,ushort,sshort,dword,dwordx2,dwordx3,dwordx4}
{global,flat,scratch}_store_{byte,short,byte_d16_hi,short_d16_hi,dword,dwordx2,dwordx3,dwordx4}
{global,flat}_atomic_{swap,cmpswap,add,sub,smin,umin,smax,umax,and,or,xor,inc,dec}{,_x2}
)"},

    {{kGfx90a, kGfx942, kGfx950}, R"(
s_{and,or,xor,nand,nor,xnor}_saveexec_b64 s_cbranch_{g_fork,i_fork,join}
s_setvskip s_{getreg,setreg,setreg_imm32}_b32 s_set_gpr_idx_{on,off,mode,idx}
s_{,buffer_}store_dword{,x2,x4} s_scratch_{load,store}_dword{,x2,x4}
s_{,buffer_}atomic_{swap,cmpswap,add,sub,smin,umin,smax,umax,and,or,xor,inc,dec}{,_x2}
s_dcache_{inv_vol,wb,wb_vol,discard,discard_x2}

v_pk_mov_b32 v_accvgpr_{mov,read,write}_b32
v_{add,sub,subrev}_u{16,32} v_{add,sub}_i{16,32} v_{addc,subb,subbrev}_co_u32 v_mad_legacy_{i,u}16
v_qsad_pk_u16_u8 v_mqsad_{pk_u16,u32}_u8 v_sat_pk_u8_i16 v_dot2c_i32_i16 v_dot8c_i32_i4
v_fmac_f64 v_{mad,mac,madmk,madak,mad_legacy,fma_legacy,div_fixup_legacy}_f16 v_{exp,log}_legacy_f32
v_trig_preop_f64 v_pk_{add,mul,fma}_f32
v_cvt_off_f32_i4 v_cvt_norm_{i,u}16_f16 v_cvt_pkaccum_u8_f32
v_cmpx_tru_f{16,32,64} v_cmp_{f,t}_{i,u}16 v_cmpx_{f,lt,eq,le,gt,ne,ge,t}_{i,u}{16,32,64}
v_cmpx_{f,lt,eq,le,gt,lg,ge,o,u,nge,nlg,ngt,nle,neq,nlt,class}_f{16,32,64}

ds_mskor{,_rtn}_b{32,64} ds_wrap_rtn_b32 ds_condxchg32_rtn_b64 ds_add{,_rtn}_f64 ds_nop

ds_read_{u8,i8,u16}_d16{,_hi}=ds_read_{}_d16{}_alone
{global,flat,scratch,buffer}_load_{ubyte,sbyte,short}_d16{,_hi}={}_load_{}_d16{}_alone

buffer_load_{ubyte,sbyte,ushort,sshort,dword,dwordx2,dwordx3,dwordx4}
buffer_store_{byte,short,byte_d16_hi,short_d16_hi,dword,dwordx2,dwordx3,dwordx4}
buffer_atomic_{swap,cmpswap,add,sub,smin,umin,smax,umax,and,or,xor,inc,dec}{,_x2}
{global,flat,buffer}_atomic_{add,min,max}_f64 {global,buffer}_atomic_pk_add_f16 buffer_wbl2
buffer_{load,store}_format{,_d16}_{x,xy,xyz,xyzw} buffer_{load,store}_format_d16_hi_x
tbuffer_{load,store}_format{,_d16}_{x,xy,xyz,xyzw}=buffer_{}_format{}_{}
)"},

    {{kGfx942, kGfx950, kGfx1030}, R"(
v_dot2_f32_f16 v_dot2c_f32_f16=v_dot2_f32_f16
)"},

    {{kGfx90a}, R"(
v_{mad,mac,madmk,madak,mad_legacy}_f32 v_dot2_f32_f16=v_dot2_f32_f16_gfx90a v_dot2c_f32_f16=v_dot2_f32_f16_gfx90a

v_mfma_f32_{32x32x4,16x16x4,4x4x4,32x32x8,16x16x16}f16 v_mfma_f32_{32x32x4,16x16x4,4x4x4,32x32x8,16x16x16}bf16_1k
v_mfma_f32_{32x32x2,16x16x2,4x4x2,32x32x4,16x16x8}bf16 v_mfma_f32_{32x32x2,16x16x4}f32=v_mfma_f32_{}_f32
v_mfma_f32_{32x32x1,16x16x1,4x4x1}f32=v_mfma_f32_{32x32x1_2b,16x16x1_4b,4x4x1_16b}_f32
v_mfma_f64_{16x16x4,4x4x4}f64 v_mfma_i32_{32x32x8,16x16x16}i8
v_mfma_i32_{32x32x4,16x16x4,4x4x4}i8=v_mfma_i32_{32x32x4_2b,16x16x4_4b,4x4x4_16b}_i8

{global,buffer}_atomic_add_f32={}_atomic_add_f32_without_denormals buffer_store_lds_dword
buffer_wbinvl1=buffer_inv buffer_wbinvl1_vol=buffer_inv buffer_invl2=buffer_inv
)"},

    {{kGfx942, kGfx950}, R"(
v_mov_b64 v_lshl_add_u64

v_mfma_f32_{32x32x4_2b,16x16x4_4b,4x4x4_16b,32x32x8,16x16x16}_{f16,bf16}
v_mfma_f32_{32x32x1_2b,16x16x1_4b,4x4x1_16b,32x32x2,16x16x4}_f32 v_mfma_f64_{16x16x4,4x4x4_4b}_f64
v_mfma_i32_{32x32x4_2b,16x16x4_4b,4x4x4_16b,32x32x16,16x16x32}_i8
v_smfmac_f32_{16x16x32,32x32x16}_{f16,bf16}
v_smfmac_i32_{16x16x64,32x32x32}_i8

ds_pk_add{,_rtn}_{f16,bf16}
{global,scratch}_load_lds_{ubyte,sbyte,ushort,sshort,dword} buffer_atomic_add_f32 flat_atomic_pk_add_f16
{global,flat}_atomic_pk_add_bf16 buffer_inv
)"},

    {{kGfx942}, R"(
v_cvt_f32_{fp8,bf8} v_cvt_pk_f32_{fp8,bf8} v_cvt_{pk,sr}_{fp8,bf8}_f32 v_mfma_f32_{32x32x4,16x16x8}_xf32
v_mfma_f32_{16x16x32,32x32x16}_{fp8,bf8}_{fp8,bf8} v_smfmac_f32_{16x16x64,32x32x32}_{fp8,bf8}_{fp8,bf8}
)"},

    {{kGfx950}, R"(
v_cvt_f32_{fp8,bf8}=v_cvt_f32_{}_ocp v_cvt_pk_f32_{fp8,bf8}=v_cvt_pk_f32_{}_ocp
v_cvt_{pk,sr}_{fp8,bf8}_f32=v_cvt_{}_{}_f32_ocp v_cvt_f32_bf16 v_cvt_pk_{f16,bf16}_f32 v_cvt_sr_{f16,bf16}_f32
v_bitop3_b{16,32} v_prng_b32 v_ashr_pk_{i,u}8_i32 v_permlane{16,32}_swap_b32
v_{minimum,maximum}3_f32 v_pk_{minimum,maximum}3_f16 v_dot2_f32_bf16 v_dot2c_f32_bf16=v_dot2_f32_bf16
v_cvt_scalef32_pk_{fp8,bf8,fp4}_{f32,f16,bf16} v_cvt_scalef32_pk_{f32,f16,bf16}_{fp8,bf8,fp4}
v_cvt_scalef32_{f32,f16}_{fp8,bf8} v_cvt_scalef32_sr_{fp8,bf8}_{f32,f16,bf16}
v_cvt_scalef32_sr_pk_fp4_{f32,f16,bf16} v_cvt_scalef32_2xpk16_{fp6,bf6}_f32
v_cvt_scalef32_pk32_{fp6,bf6}_{f16,bf16} v_cvt_scalef32_pk32_{f32,f16,bf16}_{fp6,bf6}
v_cvt_scalef32_sr_pk32_{fp6,bf6}_{f32,f16,bf16}

v_mfma_f32_{16x16x32,32x32x16}_{f16,bf16} v_mfma_i32_{16x16x64,32x32x32}_i8
v_mfma_f32_{16x16x32,32x32x16}_{fp8,bf8}_{fp8,bf8}=v_mfma_f32_{}_{}_{}_ocp
v_mfma_{,scale_}f32_{16x16x128,32x32x64}_f8f6f4
v_smfmac_f32_{16x16x64,32x32x32}_{f16,bf16} v_smfmac_i32_{16x16x128,32x32x64}_i8
v_smfmac_f32_{16x16x64,32x32x32,16x16x128,32x32x64}_{fp8,bf8}_{fp8,bf8}=v_smfmac_f32_{}_{}_{}_ocp

ds_read_b64_tr_b{4,8,16} ds_read_b96_tr_b6 global_load_lds_dwordx{3,4} buffer_atomic_pk_add_bf16
)"},

    {{kGfx1030, kGfx1100, kGfx1150, kGfx1201}, R"(
v_cvt_off_f32_i4 v_sat_pk_u8_i16 v_cvt_norm_{i,u}16_f16 v_trig_preop_f64 v_qsad_pk_u16_u8 v_mqsad_{pk_u16,u32}_u8
ds_mskor{,_rtn}_b{32,64} ds_condxchg32_rtn_b64 ds_nop
s_{and,or,xor,nand,nor,xnor}_saveexec_b{32,64}
s_{clause,wait_idle} s_{round,denorm}_mode s_{getreg,setreg_imm32}_b32=s_{}_b32_gfx11

s_movrelsd_2_b32 s_ttracedata_imm=s_ttracedata v_pipeflush=v_nop v_mullit_f32 v_swaprel_b32
v_xor3_b32 v_permlane{16,x16}_b32 v_mov{rels,reld,relsd,relsd_2}_b32
v_{add,sub,subrev}_nc_u32=v_{}_u32 v_{add,sub}_nc_{i32,i16,u16}=v_{}_{}
v_{add,sub,subrev}_co_ci_u32=v_{addc,subb,subbrev}_co_u32 v_{fmac,fmamk,fmaak}_f16
v_cmpx_{lt,eq,le,gt,lg,ge,o,u,nge,nlg,ngt,nle,neq,nlt,class}_f{16,32,64}=v_cmp_{}_f{}
v_cmpx_{lt,eq,le,gt,ne,ge}_{i,u}{16,32,64}=v_cmp_{}_{}{}
)"},

    {{kGfx1030}, R"(
s_{and,or}n{1,2}_saveexec_b32=s_{and,or}_not{0,1}_saveexec_b32 s_andn{1,2}_wrexec_b32=s_and_not{0,1}_wrexec_b32
s_inst_prefetch=s_set_inst_prefetch_distance s_setreg_b32=s_setreg_b32_gfx10
v_cmpx_tru_f{16,32,64}=v_cmp_tru_f{} v_cmpx_f_f{16,32,64}=v_cmp_f_f{}
global_{load,store}_dword_addtid=global_{}_addtid_b32
{global,buffer}_atomic_csub={global,buffer_gfx10}_atomic_sub_clamp_u32
v_{fma,fmac}_legacy_f32=v_{fma,fma}_legacy_f32
{global,flat,buffer}_atomic_fcmpswap={global,flat,buffer_gfx10}_atomic_cmpswap_f32
{global,flat,buffer}_atomic_fcmpswap_x2={global,flat,buffer_gfx10}_atomic_cmpswap_f64
{global,flat}_atomic_f{min,max}={}_atomic_{}_f32 {global,flat}_atomic_f{min,max}_x2={}_atomic_{}_f64
buffer_load_{ubyte,sbyte,ushort,sshort,dword,dwordx2,dwordx3,dwordx4}=buffer_gfx10_load_{}
buffer_load_{ubyte,sbyte,short}_d16{,_hi}=buffer_gfx10_load_{}_d16{}
ds_read_{u8,i8,u16}_d16{,_hi} {global,flat,scratch}_load_{ubyte,sbyte,short}_d16{,_hi}
buffer_store_{byte,short,byte_d16_hi,short_d16_hi,dword,dwordx2,dwordx3,dwordx4}=buffer_gfx10_store_{}
buffer_atomic_{swap,cmpswap,add,sub,smin,umin,smax,umax,and,or,xor,inc,dec}{,_x2}=buffer_gfx10_atomic_{}{}
buffer_{load,store}_format{,_d16}_{x,xy,xyz,xyzw}=buffer_gfx10_{}_format{}_{}
buffer_{load,store}_format_d16_hi_x=buffer_gfx10_{}_format_d16_hi_x
tbuffer_{load,store}_format{,_d16}_{x,xy,xyz,xyzw}=buffer_gfx10_{}_format{}_{}
buffer_atomic_f{min,max}=buffer_gfx10_atomic_{}_f32 buffer_atomic_f{min,max}_x2=buffer_gfx10_atomic_{}_f64
)"},

    {{kGfx1100, kGfx1150, kGfx1201}, R"(
global_{load,store}_addtid_b32
v_fma_dx9_zero_f32=v_fma_legacy_f32 ds_{append,consume} ds_{load,store}_addtid_b32=ds_{read,write}_addtid_b32
ds_storexchg_2addr{,_stride64}_rtn_b{32,64}=ds_wrxchg2{,st64}_rtn_b{}
s_{and,or}_not1_b{32,64}=s_{andn2,orn2}_b{} s_{ctz_i32_b32,ctz_i32_b64}=s_{ff1_i32_b32,ff1_i32_b64}
s_{clz_i32_u32,clz_i32_u64,cls_i32,cls_i32_i64}=s_{flbit_i32_b32,flbit_i32_b64,flbit_i32,flbit_i32_i64}
s_{and,or}_not{0,1}_saveexec_b32 s_and_not{0,1}_wrexec_b32
s_{and,or}_not{0,1}_saveexec_b64=s_{}n{1,2}_saveexec_b64 s_and_not{0,1}_wrexec_b64=s_andn{1,2}_wrexec_b64
s_pack_hl_b32_b16 s_{sendmsghalt,setkill,endpgm_saved,wait_event} s_atc_probe{,_buffer}
s_delay_alu s_sendmsg_rtn_b{32,64} s_sendmsg=s_sendmsg_gfx11 s_setreg_b32=s_setreg_b32_gfx11
s_load_b{32,64,128,256,512}=s_load_{dword,dwordx2,dwordx4,dwordx8,dwordx16}
s_buffer_load_b{32,64,128,256,512}=s_buffer_load_{dword,dwordx2,dwordx4,dwordx8,dwordx16}

v_{mov,not,and,or,xor,cndmask,swap}_b16 v_permlane64_b32 v_{maxmin,minmax}_{i,u}32
v_{ctz_i32_b32,clz_i32_u32,cls_i32}=v_{ffbl_b32,ffbh_u32,ffbh_i32}
v_mul_dx9_zero_f32=v_mul_legacy_f32
v_dot4_i32_iu8 v_dot8_i32_iu4
v_cvt_pk_rtz_f16_f32=v_cvt_pkrtz_f16_f32 v_cvt_{i32_i,u32_u}16
v_cvt_pk_norm_{i,u}16_f{16,32}=v_cvt_pknorm_{}16_f{} v_cvt_pk_{i,u}16_f32

ds_load_{i8,u8,i16,u16,b32,b64,b96,b128}=ds_read_{} ds_load_{u8,i8,u16}_d16{,_hi}=ds_read_{}_d16{}
ds_load_2addr{,_stride64}_b{32,64}=ds_read2{,st64}_b{} ds_store_b{8,16,32,64,96,128}=ds_write_b{}
ds_store_b{8,16}_d16_hi=ds_write_b{}_d16_hi ds_store_2addr{,_stride64}_b{32,64}=ds_write2{,st64}_b{}
ds_storexchg_rtn_b{32,64}=ds_wrxchg_rtn_b{} ds_cmpstore{,_rtn}_b{32,64}=ds_cmpst{}_b{}

{global,flat,scratch}_load_{u,i}{8,16}={}_load_{u,s}{byte,short}
{global,flat,scratch}_load_b{32,64,96,128}={}_load_dword{,x2,x3,x4}
{global,flat,scratch}_load_d16_{u8,i8,b16}={}_load_{ubyte,sbyte,short}_d16
{global,flat,scratch}_load_d16_hi_{u8,i8,b16}={}_load_{ubyte,sbyte,short}_d16_hi
{global,flat,scratch}_store_b{8,16,32,64,96,128}={}_store_{byte,short,dword,dwordx2,dwordx3,dwordx4}
{global,flat,scratch}_store_d16_hi_b{8,16}={}_store_{byte,short}_d16_hi
{global,flat}_atomic_{swap,cmpswap,and,or,xor}_b{32,64}={}_atomic_{}{,_x2}
{global,flat}_atomic_{add,sub,inc,dec}_u{32,64}={}_atomic_{}{,_x2}
{global,flat}_atomic_{min,max}_i{32,64}={}_atomic_s{}{,_x2} {global,flat}_atomic_{min,max}_u{32,64}={}_atomic_u{}{,_x2}
)"},

    {{kGfx1030, kGfx1100, kGfx1150}, R"(
ds_wrap_rtn_b32 ds_{permute,bpermute}_b32=ds_{}_b32_gfx11 s_waitcnt_{depctr,vscnt,vmcnt,expcnt,lgkmcnt}
v_cmpx_{f,t}_{i,u}{32,64}=v_cmp_{}_{}{} buffer_gl{0,1}_inv s_gl1_inv=s_dcache_inv
)"},

    {{kGfx1100, kGfx1150}, R"(
v_cvt_{nearest,floor}_i32_f32=v_cvt_{rpi,flr}_i32_f32
v_dot2_f32_{f16,bf16}=v_dot2_f32_{}_gfx11 v_dot2acc_f32_{f16,bf16}=v_dot2_f32_{}_gfx11 v_dot2_f16_f16 v_dot2_bf16_bf16
{global,buffer}_atomic_csub_u32={global,buffer_gfx11}_atomic_sub_clamp_u32
v_fmac_dx9_zero_f32=v_fma_legacy_f32 ds_cmpstore{,_rtn}_f{32,64}=ds_cmpst{}_f{}
{global,flat,buffer}_atomic_cmpswap_f32={global,flat,buffer_gfx11}_atomic_cmpswap_f32
v_wmma_f32_16x16x16_{f16,bf16}=v_wmma_f32_16x16x16_{}_gfx11 v_wmma_f16_16x16x16_f16=v_wmma_f16_16x16x16_f16_gfx11
v_wmma_bf16_16x16x16_bf16=v_wmma_bf16_16x16x16_bf16_gfx11 v_wmma_i32_16x16x16_{iu8,iu4}=v_wmma_i32_16x16x16_{}_gfx11
s_set_inst_prefetch_distance s_cbranch_{cdbgsys,cdbguser,cdbgsys_or_user,cdbgsys_and_user} s_endpgm_ordered_ps_done
buffer_{load,store}{,_d16}_format_{x,xy,xyz,xyzw}=buffer_gfx11_{}_format{}_{}
buffer_{load,store}_d16_hi_format_x=buffer_gfx11_{}_format_d16_hi_x
tbuffer_{load,store}{,_d16}_format_{x,xy,xyz,xyzw}=buffer_gfx11_{}_format{}_{}
v_{maxmin,minmax}_f{16,32}
v_cmp_t_f{16,32,64}=v_cmp_tru_f{} v_cmpx_{f,t}_f{16,32,64}=v_cmp_{f,tru}_f{}
{global,flat}_atomic_{min,max}_f32
buffer_load_{u,i}{8,16}=buffer_gfx11_load_{u,s}{byte,short} buffer_load_b{32,64,96,128}=buffer_gfx11_load_dword{,x2,x3,x4}
buffer_load_d16_{u8,i8,b16}=buffer_gfx11_load_{ubyte,sbyte,short}_d16
buffer_load_d16_hi_{u8,i8,b16}=buffer_gfx11_load_{ubyte,sbyte,short}_d16_hi
buffer_store_b{8,16,32,64,96,128}=buffer_gfx11_store_{byte,short,dword,dwordx2,dwordx3,dwordx4}
buffer_store_d16_hi_b{8,16}=buffer_gfx11_store_{byte,short}_d16_hi
buffer_atomic_{swap,cmpswap,and,or,xor}_b{32,64}=buffer_gfx11_atomic_{}{,_x2}
buffer_atomic_{add,sub,inc,dec}_u{32,64}=buffer_gfx11_atomic_{}{,_x2}
buffer_atomic_{min,max}_i{32,64}=buffer_gfx11_atomic_s{}{,_x2} buffer_atomic_{min,max}_u{32,64}=buffer_gfx11_atomic_u{}{,_x2}
buffer_atomic_add_f32=buffer_gfx11_atomic_add_f32 buffer_atomic_{min,max}_f32=buffer_gfx11_atomic_{}_f32
)"},

    {{kGfx1150, kGfx1201}, R"(
s_{add,sub,mul,fmac,ceil,floor,trunc,rndne}_f{16,32} s_fma{ak,mk}_f32
s_cvt_f32_{i32,u32,f16} s_cvt_{i32,u32,f16}_f32 s_cvt_hi_f32_f16 s_cvt_pk_rtz_f16_f32
s_cmp_{lt,eq,le,gt,lg,ge,o,u,nge,nlg,ngt,nle,neq,nlt}_f{16,32}
)"},

    {{kGfx1150}, R"(
s_{min,max}_f{16,32}
)"},

    {{kGfx1201}, R"(
v_cvt_{nearest,floor}_i32_f32=v_cvt_{}_i32_f32_gfx12
v_dot2_f32_{f16,bf16}=v_dot2_f32_{}_gfx12 v_dot2acc_f32_{f16,bf16}=v_dot2_f32_{}_gfx12
v_dot2_f16_f16=v_dot2_f16_f16_gfx12 v_dot2_bf16_bf16=v_dot2_bf16_bf16_gfx12
v_cvt_f32_{fp8,bf8}=v_cvt_f32_{}_gfx12 v_cvt_pk_f32_{fp8,bf8}=v_cvt_pk_f32_{}_gfx12
v_cvt_{pk,sr}_{fp8,bf8}_f32=v_cvt_{}_{}_f32_gfx12 v_dot4_f32_{fp8,bf8}_{fp8,bf8}
{global,flat,buffer}_atomic_{sub_clamp,cond_sub}_u32={global,flat,buffer_gfx12}_atomic_{}_u32
ds_{sub_clamp,cond_sub}{,_rtn}_u32
ds_pk_add{,_rtn}_{f16,bf16} {global,flat}_atomic_pk_add_{f16,bf16} buffer_atomic_pk_add_{f16,bf16}=buffer_gfx12_atomic_pk_add_{}
v_wmma_f32_16x16x16_{f16,bf16,fp8_fp8,fp8_bf8,bf8_fp8,bf8_bf8} v_wmma_f16_16x16x16_f16 v_wmma_bf16_16x16x16_bf16
v_wmma_i32_16x16x16_{iu8,iu4} v_wmma_i32_16x16x32_iu4
v_swmmac_f32_16x16x32_{f16,bf16,fp8_fp8,fp8_bf8,bf8_fp8,bf8_bf8} v_swmmac_f16_16x16x32_f16 v_swmmac_bf16_16x16x32_bf16
v_swmmac_i32_16x16x32_{iu8,iu4} v_swmmac_i32_16x16x64_iu4
s_{add,sub}_co_{i,u}32=s_{}_{}32 s_{add,sub}_co_ci_u32=s_{addc,subb}_u32 s_addk_co_i32=s_addk_i32
s_{add,sub}_nc_u64 s_mul_u64 s_load_{i,u}{8,16} s_load_b96=s_load_dwordx3 s_barrier_{signal,signal_isfirst,wait}
s_get_barrier_state s_sleep_var=s_sleep
s_buffer_load_{i,u}{8,16} s_buffer_load_b96=s_buffer_load_dwordx3 v_permlane{,x}16_var_b32
s_wait_{alu,loadcnt,storecnt,samplecnt,bvhcnt,expcnt,dscnt,kmcnt,loadcnt_dscnt,storecnt_dscnt}
s_{min_num,max_num,minimum,maximum}_f{16,32}

v_s_{exp,log,rcp,rsq,sqrt}_f{16,32} v_mad_co_{i64_i,u64_u}32=v_mad_{}32
v_{min,max}_num_f{16,32,64}=v_{}_f{} v_{min3,max3,med3,minmax,maxmin}_num_f{16,32}=v_{}_f{}
v_pk_{min,max}_num_f16=v_pk_{}_f16
v_{minimum,maximum}_f{16,32,64} v_{minimum3,maximum3,minimummaximum,maximumminimum}_f{16,32} v_pk_{minimum,maximum}_f16

s_prefetch_{inst,data}{,_pc_rel} s_buffer_prefetch_data s_alloc_vgpr
ds_bpermute_fi_b32 {global,scratch}_{load,store}_block global_load_tr_b{64,128}
buffer_{load,store}{,_d16}_format_{x,xy,xyz,xyzw}=buffer_gfx12_{}_format{}_{}
buffer_{load,store}_d16_hi_format_x=buffer_gfx12_{}_format_d16_hi_x
tbuffer_{load,store}{,_d16}_format_{x,xy,xyz,xyzw}=buffer_gfx12_{}_format{}_{}
ds_{min,max}_num{,_rtn}_f{32,64}
{global,flat}_atomic_{min,max}_num_f32 global_{inv,wb,wbinv}
buffer_load_{u,i}{8,16}=buffer_gfx12_load_{u,s}{byte,short} buffer_load_b{32,64,96,128}=buffer_gfx12_load_dword{,x2,x3,x4}
buffer_load_d16_{u8,i8,b16}=buffer_gfx12_load_{ubyte,sbyte,short}_d16
buffer_load_d16_hi_{u8,i8,b16}=buffer_gfx12_load_{ubyte,sbyte,short}_d16_hi
buffer_store_b{8,16,32,64,96,128}=buffer_gfx12_store_{byte,short,dword,dwordx2,dwordx3,dwordx4}
buffer_store_d16_hi_b{8,16}=buffer_gfx12_store_{byte,short}_d16_hi
buffer_atomic_{swap,cmpswap,and,or,xor}_b{32,64}=buffer_gfx12_atomic_{}{,_x2}
buffer_atomic_{add,sub,inc,dec}_u{32,64}=buffer_gfx12_atomic_{}{,_x2}
buffer_atomic_{min,max}_i{32,64}=buffer_gfx12_atomic_s{}{,_x2} buffer_atomic_{min,max}_u{32,64}=buffer_gfx12_atomic_u{}{,_x2}
buffer_atomic_add_f32=buffer_gfx12_atomic_add_f32 buffer_atomic_{min,max}_num_f32=buffer_gfx12_atomic_{}_num_f32
)"},
};

/// Takes what stands before a separator off the front of a text, and the separator, too.
std::string_view take(std::string_view& text, char separator) {
  const size_t at = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

/// Hands out what an entry's braces make of it. Each pair on the right belongs to one on the left.
class Expansion {
 public:
  explicit Expansion(const UseBinding& use) : use_(use) {}

  void expand(std::string_view left, std::string_view right) {
    const size_t instruction_size = instruction_.size(), body_size = body_.size();
    const bool has_braces = left.find('{') != left.npos;
    instruction_ += take(left, '{');
    body_ += take(right, '{');
    if (has_braces) {
      const std::string_view choices = take(left, '}'), body_choices = take(right, '}');
      choose(choices, body_choices, left, right);
    } else {
      use_(instruction_, body_);
    }
    instruction_.resize(instruction_size);
    body_.resize(body_size);
  }

 private:
  /// Goes on behind a pair of braces on either side with each choice.
  void choose(std::string_view choices, std::string_view body_choices, std::string_view left, std::string_view right) {
    const bool is_same = body_choices.empty();
    const size_t instruction_size = instruction_.size(), body_size = body_.size();
    for (auto left_over = std::ranges::count(choices, ',') + 1; left_over > 0; --left_over) {
      const std::string_view choice = take(choices, ',');
      instruction_ += choice;
      body_ += is_same ? choice : take(body_choices, ',');
      expand(left, right);
      instruction_.resize(instruction_size);
      body_.resize(body_size);
    }
  }

  const UseBinding& use_;
  std::string instruction_, body_;  ///< as far as they are known
};

}  // namespace

void for_each_binding(std::string_view processor, const UseBinding& use) {
  if (processor == "gfx9-generic") processor = kGfx90a;  // whose rows it has, but for one
  Expansion expansion(use);
  for (const BindingList& list : kLists) {
    if (std::ranges::find(list.processors, processor) == list.processors.end()) continue;
    for (std::string_view rest = list.entries; !rest.empty();) {
      std::string_view line = take(rest, '\n');
      while (!line.empty()) {
        std::string_view body = take(line, ' ');
        const std::string_view instruction = body.find('=') == body.npos ? body : take(body, '=');
        expansion.expand(instruction, body);
      }
    }
  }
}

}  // namespace wave::emulator
